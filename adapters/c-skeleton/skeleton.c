/*
 * A complete adapter to copy; `dyno new-adapter NAME` does. Each receiver listens at a socket, to which the
 * channel's sender connects; there each message follows its length. How to make it your own:
 * docs/how-to/add-an-adapter.md. It is built by
 *
 *     cc -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -o libdyno_c-skeleton.so c-skeleton.c
 */
#define _GNU_SOURCE
#include "dyno_adapter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Errors: a text per thread, and a status. */
static _Thread_local char error[256];
static const char *last_error(void) { return error; }
static dyno_status failed(const char *call) {
    snprintf(error, sizeof error, "%s: %s", call, strerror(errno));
    return errno == EPIPE || errno == ECONNRESET ? DYNO_PEER_GONE : DYNO_ERROR;
}

struct dyno_node {
    uint16_t participant;
    int tcp;         /* Over TCP instead of Unix sockets. */
    int send_buffer; /* In KiB; 0: the kernel's. */
    int scratch;     /* The scratch directory, open: its path may be longer than the name of a socket. */
};

/* Options come as text, checked against `describe`. */
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
    node->tcp = strcmp(option(context, "transport", "unix"), "tcp") == 0;
    node->send_buffer = atoi(option(context, "send_buffer_kib", "0"));
    node->scratch = open(context->scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (node->scratch < 0) {
        dyno_status status = failed(context->scratch);
        free(node);
        return status;
    }
    *out = node;
    return DYNO_OK;
}
static void close_node(dyno_node *node) {
    close(node->scratch);
    free(node);
}

/* Where a receiver listens. */
struct place {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t length;
};
static dyno_status place_of(const dyno_node *node, const dyno_channel *channel, const dyno_endpoint *reader,
                            struct place *place) {
    memset(place, 0, sizeof *place);
    if (!node->tcp) {
        /* Everything visible lies in the scratch directory and is named by its channel. */
        place->local.sun_family = AF_UNIX;
        place->length = sizeof place->local;
        snprintf(place->local.sun_path, sizeof place->local.sun_path, "/proc/self/fd/%d/%u-%u", node->scratch,
                 channel->id, reader->participant);
    } else if (inet_pton(AF_INET, reader->address, &place->v4.sin_addr) == 1) {
        place->v4.sin_family = AF_INET;
        place->v4.sin_port = htons(reader->port);
        place->length = sizeof place->v4;
    } else if (inet_pton(AF_INET6, reader->address, &place->v6.sin6_addr) == 1) {
        place->v6.sin6_family = AF_INET6;
        place->v6.sin6_port = htons(reader->port);
        place->length = sizeof place->v6;
    } else {
        errno = EAFNOSUPPORT;
        return failed(reader->address);
    }
    return DYNO_OK;
}

/* A message on its way. */
struct frame {
    uint32_t length; /* Of the data, in network order. */
    uint32_t unused; /* The data begins where any type may. */
    unsigned char data[];
};

struct peer {
    struct place at;
    int socket; /* -1: not there yet, or gone. */
    int connected;
};
struct dyno_sender {
    int tcp, send_buffer;
    uint32_t peer_count;
    struct peer *peers;
    struct frame *frame;
};

static void sender_close(dyno_sender *sender) {
    for (uint32_t i = 0; i < sender->peer_count; i++) {
        if (sender->peers[i].socket >= 0) {
            close(sender->peers[i].socket);
        }
    }
    free(sender->frame);
    free(sender->peers);
    free(sender);
}
static dyno_status sender_open(dyno_node *node, const dyno_channel *channel, dyno_sender **out) {
    dyno_sender *sender = calloc(1, sizeof *sender);
    if (!sender) {
        return failed("calloc");
    }
    sender->tcp = node->tcp;
    sender->send_buffer = node->send_buffer;
    sender->peers = calloc(channel->reader_count, sizeof *sender->peers);
    sender->frame = calloc(1, sizeof *sender->frame + channel->max_payload);
    if (!sender->peers || !sender->frame) {
        dyno_status status = failed("calloc");
        sender_close(sender);
        return status;
    }
    for (uint32_t i = 0; i < channel->reader_count; i++) {
        dyno_status status = place_of(node, channel, &channel->readers[i], &sender->peers[i].at);
        sender->peers[i].socket = -1;
        sender->peer_count = i + 1;
        if (status != DYNO_OK) {
            sender_close(sender);
            return status;
        }
    }
    *out = sender;
    return DYNO_OK;
}

/* Dyno asks again and again until the receivers are there: each time we go on connecting. */
static void reach(const dyno_sender *sender, struct peer *peer) {
    int on = 1, bytes = 1024 * sender->send_buffer;
    if (peer->socket < 0) {
        peer->socket = socket(peer->at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    if (connect(peer->socket, &peer->at.any, peer->at.length) == 0 || errno == EISCONN) {
        if (sender->tcp) {
            setsockopt(peer->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
        if (bytes > 0) {
            setsockopt(peer->socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        }
        fcntl(peer->socket, F_SETFL, 0); /* From now on it blocks. */
        peer->connected = 1;
    } else if (errno != EINPROGRESS && errno != EALREADY && peer->socket >= 0) {
        close(peer->socket); /* Not there yet. */
        peer->socket = -1;
    }
}
static dyno_status sender_matched(dyno_sender *sender, uint32_t *receivers) {
    *receivers = 0;
    for (uint32_t i = 0; i < sender->peer_count; i++) {
        if (!sender->peers[i].connected) {
            reach(sender, &sender->peers[i]);
        }
        *receivers += sender->peers[i].connected && sender->peers[i].socket >= 0;
    }
    return DYNO_OK;
}

/* Memory of ours: the kernel copies. A library that lends memory would give its own. */
static dyno_status loan(dyno_sender *sender, size_t length, void **buffer) {
    (void)length;
    *buffer = sender->frame->data;
    return DYNO_OK;
}
/* Waits for room. A signal may interrupt the wait, also in the middle of a message. */
static int send_all(int socket, const unsigned char *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return 0;
        }
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        }
    }
    return 1;
}
/* One receiver that is gone does not keep the message from the others. */
static dyno_status send_message(dyno_sender *sender, void *buffer, size_t length) {
    dyno_status status = DYNO_OK;
    (void)buffer; /* It is that of `loan`. */
    sender->frame->length = htonl((uint32_t)length);
    for (uint32_t i = 0; i < sender->peer_count; i++) {
        struct peer *peer = &sender->peers[i];
        if (peer->socket < 0) {
            errno = EPIPE;
            status = failed("send");
        } else if (!send_all(peer->socket, (unsigned char *)sender->frame, sizeof *sender->frame + length)) {
            status = failed("send");
            close(peer->socket);
            peer->socket = -1;
        }
    }
    return status;
}

struct dyno_receiver {
    struct place at;
    int listener, socket, wait; /* `socket` is -1 until the sender has connected. */
    size_t arrived;             /* Bytes of `frame` that are there. */
    uint64_t room;
    struct frame frame; /* Its data goes on behind the structure. */
};

static void receiver_close(dyno_receiver *receiver) {
    if (receiver->socket >= 0) {
        close(receiver->socket);
    }
    if (receiver->listener >= 0) {
        close(receiver->listener);
    }
    if (receiver->at.any.sa_family == AF_UNIX) {
        unlink(receiver->at.local.sun_path);
    }
    free(receiver);
}
static dyno_status receiver_open(dyno_node *node, const dyno_channel *channel, int32_t wait, dyno_receiver **out) {
    const dyno_endpoint *own = channel->readers;
    while (own->participant != node->participant) {
        own++; /* Whoever opens a receiver is among the readers. */
    }
    dyno_receiver *receiver = calloc(1, sizeof *receiver + channel->max_payload);
    if (!receiver) {
        return failed("calloc");
    }
    receiver->wait = wait;
    receiver->room = channel->max_payload;
    receiver->socket = receiver->listener = -1;
    dyno_status status = place_of(node, channel, own, &receiver->at);
    if (status == DYNO_OK) {
        int on = 1, fd = socket(receiver->at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        receiver->listener = fd;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (fd < 0 || bind(fd, &receiver->at.any, receiver->at.length) != 0 || listen(fd, 1) != 0) {
            status = failed("listen");
        }
    }
    if (status != DYNO_OK) {
        receiver_close(receiver);
        return status;
    }
    *out = receiver;
    return DYNO_OK;
}
static dyno_status receiver_matched(dyno_receiver *receiver, uint32_t *matched) {
    if (receiver->socket < 0) {
        receiver->socket = accept4(receiver->listener, NULL, NULL, SOCK_CLOEXEC);
    }
    *matched = receiver->socket >= 0;
    return DYNO_OK;
}
static dyno_status take(dyno_receiver *receiver, dyno_on_message on_message, void *user) {
    const size_t head = sizeof receiver->frame;
    struct pollfd readable = {.fd = receiver->socket, .events = POLLIN};
    if (receiver->wait == DYNO_WAIT_BLOCK && poll(&readable, 1, DYNO_PATIENCE_MS) <= 0) {
        return DYNO_NONE; /* Nothing came, or a signal did. */
    }
    for (;;) {
        size_t length = receiver->arrived < head ? 0 : ntohl(receiver->frame.length);
        if (length > receiver->room) {
            errno = EMSGSIZE;
            return failed("recv");
        }
        if (receiver->arrived == head + length) {
            receiver->arrived = 0;
            on_message(user, receiver->frame.data, length);
            return DYNO_OK;
        }
        unsigned char *end = (unsigned char *)&receiver->frame + receiver->arrived;
        ssize_t came = recv(receiver->socket, end, head + length - receiver->arrived, MSG_DONTWAIT);
        if (came < 0) {
            return errno == EAGAIN || errno == EINTR ? DYNO_NONE : failed("recv");
        }
        if (came == 0) {
            errno = EPIPE; /* The sender has closed its end. */
            return failed("recv");
        }
        receiver->arrived += (size_t)came;
    }
}

static const dyno_description *describe(void) {
    static const char *const transports[] = {"unix", "tcp", NULL};
    static const dyno_option_spec options[] = {
        {.name = "transport",
         .kind = DYNO_OPTION_ONE_OF,
         .values = transports,
         .default_value = "unix",
         .doc = "Unix sockets within a host, or TCP"},
        {.name = "send_buffer_kib",
         .kind = DYNO_OPTION_INT,
         .doc = "the sender's socket buffer in KiB; 0: the kernel's default"},
    };
    static const dyno_description description = {
        .name = "c-skeleton",
        .version = "1", /* Ask your library: the one that is loaded, not the one you built with. */
        .summary = "The example adapter in C: messages over stream sockets, each after its length.",
        .max_message = UINT32_MAX,
        .option_count = sizeof options / sizeof *options,
        .options = options,
    };
    return &description;
}

const dyno_adapter_ops *dyno_adapter(void) {
    static const dyno_adapter_ops ops = {
        .abi_version = DYNO_ABI_VERSION,
        .struct_size = sizeof ops,
        .capabilities = DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_RELIABLE | DYNO_CAN_THREAD | DYNO_CAN_PROCESS |
                        DYNO_CAN_HOST,
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
