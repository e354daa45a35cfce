/*
 * A complete adapter to copy: each receiver listens at a Unix socket in the trial's scratch
 * directory, to which the channel's sender connects; one packet is one message. How to make it your
 * own: docs/how-to/add-an-adapter.md.
 */
#define _GNU_SOURCE
#include "dyno_adapter.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_MESSAGE 65536

/* Errors: a text per thread, and a status. */
static _Thread_local char error[256];
static const char *last_error(void) { return error; }
static dyno_status failed(const char *call) {
    snprintf(error, sizeof error, "%s: %s", call, strerror(errno));
    return errno == ECONNREFUSED || errno == ENOTCONN || errno == EPIPE ? DYNO_PEER_GONE : DYNO_ERROR;
}

struct dyno_node {
    char scratch[80];
};
struct dyno_sender {
    struct sockaddr_un to;
    int socket; /* -1 until it is connected. */
    unsigned char buffer[MAX_MESSAGE];
};
struct dyno_receiver {
    struct sockaddr_un at;
    int listener, socket, wait; /* `socket` is -1 until the sender has connected. */
    unsigned char buffer[MAX_MESSAGE];
};

static dyno_status open_node(const dyno_context *context, dyno_node **node) {
    *node = calloc(1, sizeof **node);
    if (!*node) {
        return failed("calloc");
    }
    snprintf((*node)->scratch, sizeof (*node)->scratch, "%s", context->scratch);
    return DYNO_OK;
}
static void close_node(dyno_node *node) { free(node); }

/* Everything visible lies in the scratch directory and is named by its channel. */
static struct sockaddr_un address(const dyno_node *node, const dyno_channel *channel) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%u", node->scratch, channel->id);
    return address;
}

static dyno_status sender_open(dyno_node *node, const dyno_channel *channel, dyno_sender **out) {
    dyno_sender *sender = calloc(1, sizeof *sender);
    if (!sender) {
        return failed("calloc");
    }
    sender->to = address(node, channel);
    sender->socket = -1;
    *out = sender;
    return DYNO_OK;
}
static void sender_close(dyno_sender *sender) {
    if (sender->socket >= 0) {
        close(sender->socket);
    }
    free(sender);
}
/* Dyno asks again and again until the receiver is there: each time we try to connect. */
static dyno_status sender_matched(dyno_sender *sender, uint32_t *receivers) {
    if (sender->socket < 0) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            return failed("socket");
        }
        if (connect(fd, (struct sockaddr *)&sender->to, sizeof sender->to) == 0) {
            sender->socket = fd;
        } else {
            close(fd); /* Not there yet. */
        }
    }
    *receivers = sender->socket >= 0;
    return DYNO_OK;
}

/* Memory of ours: the kernel copies. A library that lends memory would give its own. */
static dyno_status loan(dyno_sender *sender, size_t length, void **buffer) {
    (void)length;
    *buffer = sender->buffer;
    return DYNO_OK;
}
static dyno_status send_message(dyno_sender *sender, void *buffer, size_t length) {
    if (send(sender->socket, buffer, length, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
        return DYNO_OK;
    }
    /* Full: wait for room. A signal may interrupt the wait. */
    while (send(sender->socket, buffer, length, MSG_NOSIGNAL) < 0) {
        if (errno != EINTR) {
            return failed("send");
        }
    }
    return DYNO_OK;
}

static dyno_status receiver_open(dyno_node *node, const dyno_channel *channel, int32_t wait, dyno_receiver **out) {
    dyno_receiver *receiver = calloc(1, sizeof *receiver);
    if (!receiver) {
        return failed("calloc");
    }
    receiver->at = address(node, channel);
    receiver->wait = wait;
    receiver->socket = -1;
    receiver->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (receiver->listener < 0 || bind(receiver->listener, (struct sockaddr *)&receiver->at, sizeof receiver->at) != 0 ||
        listen(receiver->listener, 1) != 0) {
        dyno_status status = failed("listen");
        close(receiver->listener);
        free(receiver);
        return status;
    }
    *out = receiver;
    return DYNO_OK;
}
static void receiver_close(dyno_receiver *receiver) {
    if (receiver->socket >= 0) {
        close(receiver->socket);
    }
    close(receiver->listener);
    unlink(receiver->at.sun_path);
    free(receiver);
}
static dyno_status receiver_matched(dyno_receiver *receiver, uint32_t *matched) {
    if (receiver->socket < 0) {
        receiver->socket = accept4(receiver->listener, NULL, NULL, SOCK_CLOEXEC);
    }
    *matched = receiver->socket >= 0;
    return DYNO_OK;
}
static dyno_status take(dyno_receiver *receiver, dyno_on_message on_message, void *user) {
    if (receiver->wait == DYNO_WAIT_BLOCK) {
        struct pollfd readable = {.fd = receiver->socket, .events = POLLIN};
        if (poll(&readable, 1, DYNO_PATIENCE_MS) <= 0) {
            return DYNO_NONE; /* Nothing came, or a signal did. */
        }
    }
    ssize_t length = recv(receiver->socket, receiver->buffer, sizeof receiver->buffer, MSG_DONTWAIT);
    if (length < 0) {
        return errno == EAGAIN || errno == EINTR ? DYNO_NONE : failed("recv");
    }
    if (length == 0) {
        errno = EPIPE; /* The sender has closed its end. */
        return failed("recv");
    }
    on_message(user, receiver->buffer, (size_t)length);
    return DYNO_OK;
}

static const dyno_description *describe(void) {
    static const dyno_description description = {
        .name = "c-skeleton",
        .version = "1", /* Ask your library: the one that is loaded, not the one you built with. */
        .summary = "Packets over Unix sockets: the example adapter in C.",
        .max_message = MAX_MESSAGE,
        .max_receivers = 1,
    };
    return &description;
}

const dyno_adapter_ops *dyno_adapter(void) {
    static const dyno_adapter_ops ops = {
        .abi_version = DYNO_ABI_VERSION,
        .struct_size = sizeof ops,
        .capabilities = DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_RELIABLE | DYNO_CAN_THREAD | DYNO_CAN_PROCESS,
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
