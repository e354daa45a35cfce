/*
 * Bare programs on the way that Dyno takes: an adapter, so that it gets into a guest as adapters do, which carries no message.
 * Where two sides meet, it runs a ping-pong of its own in plain C over the same kind of socket, or iperf3 (libiperf), appends
 * what that found to the file `result` of the host that starts, and then refuses: no trial of it completes. The ping-pong has a
 * connection for each direction and a warm-up of the same length as Dyno's, so that the ratio holds none of their costs.
 */
#define _GNU_SOURCE
#include "dyno_adapter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <iperf_api.h>
#include <linux/vm_sockets.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 68, MOST = 100000 }; /* Of 64 B behind a length, as Dyno's streams have it. */
enum { WARM_UP_NS = 100000000 }; /* As the suite of the study has it. */
enum { REST_US = 100000 }; /* Of the thread that only waits. */
enum { AGAIN = 255, NOT_TOLD = 254, NO_TEST = 253 };   /* Beside the errors of libiperf. */

static _Thread_local char error[256];
static const char *last_error(void) { return error; }
static dyno_status failed(const char *call) {
    snprintf(error, sizeof error, "%s: %s", call, strerror(errno));
    return DYNO_ERROR;
}

struct dyno_node {
    uint16_t participant;
    char program[16], result[4096];
    int count; /* Round trips, or seconds. */
    int back;  /* Where it starts: listens for the connection of the answers. */
    _Atomic(struct dyno_sender *) answers; /* Where it answers: the way back. */
};
struct dyno_sender {
    struct dyno_node *node;
    struct dyno_endpoint reader;
    char address[64];
    int measures; /* The first channel: it starts. */
};
struct dyno_receiver {
    int serves; /* Of the first channel: the other side is here. */
    int listener;
    char file[128]; /* Of a listener in a device that is a process. */
    pid_t server;
};

static const char *option(const dyno_context *context, const char *name, const char *otherwise) {
    for (uint32_t i = 0; i < context->option_count; i++) {
        if (strcmp(context->options[i].name, name) == 0) {
            return context->options[i].value;
        }
    }
    return otherwise;
}
static dyno_status open_node(const dyno_context *context, dyno_node **out) {
    dyno_node *node = calloc(1, sizeof *node);
    if (!node) {
        return failed("calloc");
    }
    node->participant = context->participant;
    node->back = -1;
    node->count = atoi(option(context, "count", "1"));
    snprintf(node->program, sizeof node->program, "%s", option(context, "program", "tcp"));
    snprintf(node->result, sizeof node->result, "%s", option(context, "result", ""));
    *out = node;
    return DYNO_OK;
}
static void close_node(dyno_node *node) { free(node); }

static int is(const dyno_node *node, const char *program) { return strcmp(node->program, program) == 0; }

static int tell(const dyno_node *node, double figure) {
    FILE *file = fopen(node->result, "a");
    if (!file) {
        return -1;
    }
    int written = fprintf(file, "%.1f\n", figure);
    return fclose(file) == 0 && written > 0 ? 0 : -1;
}

/* A child with nowhere to print to, which dies with the agent. */
static pid_t child(void) {
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, 0);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
    }
    return pid;
}
static struct iperf_test *iperf(char role, int port) {
    struct iperf_test *test = iperf_new_test();
    if (!test || iperf_defaults(test) != 0) {
        _exit(NO_TEST);
    }
    iperf_set_test_role(test, role);
    iperf_set_test_server_port(test, port);
    iperf_set_test_json_output(test, 1);
    return test;
}
static dyno_status run_iperf(const dyno_sender *sender) {
    pid_t pid = child();
    if (pid < 0) {
        return failed("fork");
    }
    if (pid == 0) {
        struct iperf_test *test = iperf('c', sender->reader.port);
        iperf_set_test_server_hostname(test, sender->address);
        iperf_set_test_duration(test, sender->node->count);
        iperf_set_test_omit(test, 1); /* TCP's slow start, as Dyno's warm-up; in addition to the duration, not in the sum. */
        iperf_run_client(test); /* With JSON as its output it says there what went wrong. */
        const char *said = iperf_get_test_json_output_string(test);
        const char *sum = said ? strstr(said, "\"sum_received\"") : NULL;
        const char *rate = sum ? strstr(sum, "\"bits_per_second\":") : NULL;
        if (!rate) {
            _exit(i_errno == IECONNECT ? AGAIN : i_errno); /* The server may not be there yet. */
        }
        _exit(tell(sender->node, strtod(strchr(rate, ':') + 1, NULL)) == 0 ? 0 : NOT_TOLD);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == AGAIN) {
        return DYNO_OK;
    }
    if (status == 0) {
        snprintf(error, sizeof error, "the bare program has been measured");
    } else if (WIFSIGNALED(status)) {
        snprintf(error, sizeof error, "iperf3 was ended by signal %d", WTERMSIG(status));
    } else {
        snprintf(error, sizeof error, "iperf3: %d, %s", WEXITSTATUS(status), iperf_strerror(WEXITSTATUS(status)));
    }
    return DYNO_ERROR;
}

/* Who is reached by vsock how: lines of address, context, and the socket of a process that is the device. */
static int vsock_peer(const char *address, unsigned *cid, char *path, size_t room) {
    const char *told = getenv("DYNO_VSOCK");
    char *copy = strdup(told ? told : ""), *rest = copy;
    int found = 0;
    for (char *line; !found && (line = strsep(&rest, "\n"));) {
        char known[64] = "", at[108] = "";
        found = sscanf(line, "%63s %u %107[^\n]", known, cid, at) >= 2 && strcmp(known, address) == 0;
        snprintf(path, room, "%s", at);
    }
    free(copy);
    return found;
}
static int ask_back_end(int fd, unsigned port) {
    char text[32];
    int length = snprintf(text, sizeof text, "CONNECT %u\n", port);
    if (send(fd, text, (size_t)length, MSG_NOSIGNAL) != length) {
        return -1;
    }
    for (int i = 0; i < 20; i++) {
        char byte;
        if (recv(fd, &byte, 1, 0) != 1) {
            return -1; /* Nobody listens there yet. */
        }
        if (byte == '\n') {
            return 0;
        }
    }
    return -1;
}
static int reach(const dyno_sender *sender) {
    int fd = -1, good = -1, on = 1;
    if (is(sender->node, "tcp")) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(sender->reader.port)};
        inet_pton(AF_INET, sender->address, &at.sin_addr);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        good = connect(fd, (struct sockaddr *)&at, sizeof at);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    } else {
        unsigned cid = 0;
        struct sockaddr_un process = {.sun_family = AF_UNIX};
        if (!vsock_peer(sender->address, &cid, process.sun_path, sizeof process.sun_path)) {
            return -1;
        }
        if (process.sun_path[0]) {
            fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            good = connect(fd, (struct sockaddr *)&process, sizeof process);
            good = good == 0 ? ask_back_end(fd, sender->reader.port) : good;
        } else {
            struct sockaddr_vm at = {.svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = sender->reader.port};
            fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
            good = connect(fd, (struct sockaddr *)&at, sizeof at);
        }
    }
    if (good != 0 && fd >= 0) {
        close(fd);
    }
    return good == 0 ? fd : -1;
}
static int move_all(int fd, char *bytes, int out) {
    for (size_t done = 0; done < MESSAGE;) {
        ssize_t n = out ? send(fd, bytes + done, MESSAGE - done, MSG_NOSIGNAL) : recv(fd, bytes + done, MESSAGE - done, 0);
        if (n <= 0) {
            return -1;
        }
        done += (size_t)n;
    }
    return 0;
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static int accepted(int listener) {
    int on = 1, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* Of a vsock it is none, which does no harm. */
    return fd;
}
static dyno_status run_ping_pong(const dyno_sender *sender) {
    static double trips[MOST];
    char message[MESSAGE] = {0};
    int out = reach(sender), count = sender->node->count < MOST ? sender->node->count : MOST;
    if (out < 0) {
        return DYNO_OK;
    }
    int back = accepted(sender->node->back), done = 0, good = back >= 0;
    for (double warm = now() + WARM_UP_NS; good && done < count;) {
        double began = now();
        good = move_all(out, message, 1) == 0 && move_all(back, message, 0) == 0;
        if (began >= warm) {
            trips[done++] = now() - began;
        }
    }
    close(out);
    if (back >= 0) {
        close(back);
    }
    if (!good) {
        return failed("the other side");
    }
    qsort(trips, (size_t)count, sizeof *trips, ascending);
    if (tell(sender->node, trips[count / 2]) != 0) {
        return failed("write the result");
    }
    snprintf(error, sizeof error, "the bare program has been measured");
    return DYNO_ERROR;
}

static dyno_status sender_open(dyno_node *node, const dyno_channel *channel, dyno_sender **out) {
    dyno_sender *sender = calloc(1, sizeof *sender);
    if (!sender) {
        return failed("calloc");
    }
    sender->node = node;
    sender->reader = channel->readers[0];
    snprintf(sender->address, sizeof sender->address, "%s", channel->readers[0].address);
    sender->measures = channel->id == 0;
    if (!sender->measures) {
        atomic_store(&node->answers, sender);
    }
    *out = sender;
    return DYNO_OK;
}
static void sender_close(dyno_sender *sender) { free(sender); }
static dyno_status sender_matched(dyno_sender *sender, uint32_t *receivers) {
    *receivers = 0;
    if (!sender->measures) {
        usleep(REST_US);
        return DYNO_OK;
    }
    return is(sender->node, "iperf3") ? run_iperf(sender) : run_ping_pong(sender);
}

/* The other side: what comes goes back, over a connection of its own. */
struct served {
    dyno_node *node;
    int listener;
};
static void *echo(void *given) {
    struct served served = *(struct served *)given;
    free(given);
    int in = accepted(served.listener), back = -1;
    char message[MESSAGE];
    for (int i = 0; i < 1000 && in >= 0 && back < 0; i++) {
        dyno_sender *answers = atomic_load(&served.node->answers);
        back = answers ? reach(answers) : -1;
        if (back < 0) {
            usleep(1000); /* The sender of the answers is opened after the receiver, or the host's device is not there yet. */
        }
    }
    while (back >= 0 && move_all(in, message, 0) == 0 && move_all(back, message, 1) == 0) {
    }
    if (in >= 0) {
        close(in);
    }
    if (back >= 0) {
        close(back);
    }
    return NULL;
}
static int listens(const dyno_node *node, dyno_receiver *receiver, const dyno_channel *channel) {
    unsigned port = channel->readers[0].port, cid = 0;
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_vm vsock = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = port};
    struct sockaddr_un process = {.sun_family = AF_UNIX};
    char path[100] = "";
    struct sockaddr *at = (struct sockaddr *)&vsock;
    socklen_t length = sizeof vsock;
    int on = 1;
    if (is(node, "tcp")) {
        at = (struct sockaddr *)&tcp;
        length = sizeof tcp;
    } else if (vsock_peer(channel->writer_address, &cid, path, sizeof path) && path[0]) {
        snprintf(process.sun_path, sizeof process.sun_path, "%s_%u", path, port);
        snprintf(receiver->file, sizeof receiver->file, "%s", process.sun_path);
        at = (struct sockaddr *)&process;
        length = sizeof process;
    }
    receiver->listener = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(receiver->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(receiver->listener, at, length) == 0 && listen(receiver->listener, 1) == 0;
}
static dyno_status serve(dyno_node *node, dyno_receiver *receiver, const dyno_channel *channel) {
    const dyno_endpoint *own = &channel->readers[0];
    if (is(node, "iperf3")) {
        receiver->server = child();
        if (receiver->server == 0) {
            struct iperf_test *test = iperf('s', own->port);
            iperf_set_test_one_off(test, 1);
            _exit(iperf_run_server(test) == 0 ? 0 : 1);
        }
        return receiver->server < 0 ? failed("fork") : DYNO_OK;
    }
    struct served *served = malloc(sizeof *served);
    if (!served || !listens(node, receiver, channel)) {
        free(served);
        return failed("listen");
    }
    *served = (struct served){node, receiver->listener};
    pthread_t thread;
    int why = pthread_create(&thread, NULL, echo, served);
    if (why != 0) {
        free(served);
        errno = why;
        return failed("pthread_create");
    }
    pthread_detach(thread);
    return DYNO_OK;
}
static void receiver_close(dyno_receiver *receiver) {
    if (receiver->server > 0) {
        kill(receiver->server, SIGKILL);
        waitpid(receiver->server, NULL, 0);
    }
    if (receiver->listener >= 0) {
        close(receiver->listener);
    }
    if (receiver->file[0]) {
        unlink(receiver->file);
    }
    free(receiver);
}
static dyno_status receiver_open(dyno_node *node, const dyno_channel *channel, int32_t wait, dyno_receiver **out) {
    (void)wait;
    dyno_receiver *receiver = calloc(1, sizeof *receiver);
    if (!receiver) {
        return failed("calloc");
    }
    receiver->listener = -1;
    receiver->serves = channel->id == 0;
    dyno_status status = DYNO_OK;
    if (receiver->serves) {
        status = serve(node, receiver, channel);
    } else if (!is(node, "iperf3")) {
        status = listens(node, receiver, channel) ? DYNO_OK : failed("listen");
        node->back = receiver->listener;
    }
    if (status != DYNO_OK) {
        receiver_close(receiver);
        return status;
    }
    *out = receiver;
    return DYNO_OK;
}
/* The agent asks again and again: where the bare program is served, that must not take a CPU from it. */
static dyno_status receiver_matched(dyno_receiver *receiver, uint32_t *matched) {
    if (receiver->serves) {
        usleep(REST_US);
    }
    *matched = 0;
    return DYNO_OK;
}

/* Nothing is ever matched, so that nobody asks for these. */
static dyno_status loan(dyno_sender *sender, size_t length, void **buffer) {
    (void)sender, (void)length, (void)buffer;
    return DYNO_UNSUPPORTED;
}
static dyno_status send_message(dyno_sender *sender, void *buffer, size_t length) {
    (void)sender, (void)buffer, (void)length;
    return DYNO_UNSUPPORTED;
}
static dyno_status take(dyno_receiver *receiver, dyno_on_message on_message, void *user) {
    (void)receiver, (void)on_message, (void)user;
    return DYNO_NONE;
}

static const dyno_description *describe(void) {
    static const char *const programs[] = {"tcp", "vsock", "iperf3", NULL};
    static const dyno_option_spec options[] = {
        {.name = "program", .kind = DYNO_OPTION_ONE_OF, .values = programs, .doc = "what is run"},
        {.name = "result", .kind = DYNO_OPTION_TEXT, .doc = "the file to which a figure is appended"},
        {.name = "count", .kind = DYNO_OPTION_INT, .most = MOST, .doc = "round trips, or seconds of iperf3"},
    };
    static const dyno_description description = {
        .name = "reference",
        .version = "1",
        .summary = "Bare programs that carry no message of Dyno's.",
        .option_count = sizeof options / sizeof *options,
        .options = options,
    };
    return &description;
}

const dyno_adapter_ops *dyno_adapter(void) {
    static const dyno_adapter_ops ops = {
        .abi_version = DYNO_ABI_VERSION,
        .struct_size = sizeof ops,
        .capabilities = DYNO_CAN_BLOCK | DYNO_CAN_RELIABLE | DYNO_CAN_HOST,
        .describe = describe,
        .last_error = last_error,
        .open = open_node,
        .close = close_node,
        .sender_open = sender_open,
        .sender_close = sender_close,
        .sender_matched = sender_matched,
        .loan = loan,
        .send = send_message,
        .receiver_open = receiver_open,
        .receiver_close = receiver_close,
        .receiver_matched = receiver_matched,
        .take = take,
    };
    return &ops;
}
