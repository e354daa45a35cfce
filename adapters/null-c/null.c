/*
 * The adapter `null` once more, in C behind the ABI: what a node sends over a channel, a receiver of
 * the same node takes back from the same buffer. Beside the built-in `null` it shows what the
 * boundary costs.
 */
#include "dyno_adapter.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char error[256];

static const char *last_error(void) { return error; }

static dyno_status fail(dyno_status status, const char *what, const char *channel) {
    snprintf(error, sizeof error, "%s (channel %s)", what, channel);
    return status;
}

/* One channel's memory: the sender's while it is empty, the receiver's while it is full. */
typedef struct slot {
    struct slot *next;
    char *name;
    unsigned char *buffer;
    size_t length;
    atomic_bool full;
    atomic_bool sender;
    atomic_bool receiver;
} slot;

struct dyno_node {
    slot *slots;
};

/* Both ends are the slot itself. */
static slot *of_sender(dyno_sender *sender) { return (slot *)(void *)sender; }
static slot *of_receiver(dyno_receiver *receiver) { return (slot *)(void *)receiver; }

static slot *find(dyno_node *node, const dyno_channel *channel) {
    for (slot *s = node->slots; s; s = s->next) {
        if (strcmp(s->name, channel->name) == 0) {
            return s;
        }
    }
    slot *s = calloc(1, sizeof *s);
    size_t size = channel->max_payload > 0 ? (size_t)channel->max_payload : 1;
    if (!s || !(s->name = malloc(strlen(channel->name) + 1)) || !(s->buffer = malloc(size))) {
        if (s) {
            free(s->name);
        }
        free(s);
        return NULL;
    }
    strcpy(s->name, channel->name);
    /* Something other than zero: zeroed memory would be mapped only by the first message. */
    memset(s->buffer, 0xff, size);
    s->next = node->slots;
    node->slots = s;
    return s;
}

static dyno_status open_node(const dyno_context *context, dyno_node **node) {
    (void)context;
    *node = calloc(1, sizeof **node);
    return *node ? DYNO_OK : fail(DYNO_ERROR, "out of memory", "none");
}

static void close_node(dyno_node *node) {
    for (slot *s = node->slots; s;) {
        slot *next = s->next;
        free(s->buffer);
        free(s->name);
        free(s);
        s = next;
    }
    free(node);
}

static dyno_status sender_open(dyno_node *node, const dyno_channel *channel, dyno_sender **sender) {
    slot *s = find(node, channel);
    if (!s) {
        return fail(DYNO_ERROR, "out of memory", channel->name);
    }
    if (atomic_exchange(&s->sender, 1)) {
        return fail(DYNO_UNSUPPORTED, "a second sender at the same time; close the first", channel->name);
    }
    *sender = (dyno_sender *)(void *)s;
    return DYNO_OK;
}

static void sender_close(dyno_sender *sender) { atomic_store(&of_sender(sender)->sender, 0); }

static dyno_status sender_matched(dyno_sender *sender, uint32_t *receivers) {
    *receivers = atomic_load(&of_sender(sender)->receiver);
    return DYNO_OK;
}

static dyno_status loan(dyno_sender *sender, size_t length, void **buffer) {
    slot *s = of_sender(sender);
    (void)length;
    if (atomic_load_explicit(&s->full, memory_order_acquire)) {
        return DYNO_REFUSED;
    }
    *buffer = s->buffer;
    return DYNO_OK;
}

static dyno_status send(dyno_sender *sender, void *buffer, size_t length) {
    slot *s = of_sender(sender);
    (void)buffer;
    s->length = length;
    atomic_store_explicit(&s->full, 1, memory_order_release);
    return DYNO_OK;
}

static dyno_status receiver_open(dyno_node *node, const dyno_channel *channel, int32_t wait,
                                 dyno_receiver **receiver) {
    (void)wait; /* Only spinning was declared. */
    slot *s = find(node, channel);
    if (!s) {
        return fail(DYNO_ERROR, "out of memory", channel->name);
    }
    if (atomic_exchange(&s->receiver, 1)) {
        return fail(DYNO_UNSUPPORTED, "a second receiver at the same time; close the first", channel->name);
    }
    *receiver = (dyno_receiver *)(void *)s;
    return DYNO_OK;
}

static void receiver_close(dyno_receiver *receiver) { atomic_store(&of_receiver(receiver)->receiver, 0); }

static dyno_status receiver_matched(dyno_receiver *receiver, uint32_t *matched) {
    *matched = atomic_load(&of_receiver(receiver)->sender);
    return DYNO_OK;
}

static dyno_status take(dyno_receiver *receiver, dyno_on_message on_message, void *user) {
    slot *s = of_receiver(receiver);
    if (!atomic_load_explicit(&s->full, memory_order_acquire)) {
        return DYNO_NONE;
    }
    on_message(user, s->buffer, s->length);
    atomic_store_explicit(&s->full, 0, memory_order_release);
    return DYNO_OK;
}

static const dyno_description *describe(void) {
    static const dyno_description description = {
        .name = "null-c",
        .version = "1",
        .summary = "One buffer within the process, in C behind the adapter ABI: the difference from `null` is the cost of the ABI.",
        .max_receivers = 1,
    };
    return &description;
}

const dyno_adapter_ops *dyno_adapter(void) {
    static const dyno_adapter_ops ops = {
        .abi_version = DYNO_ABI_VERSION,
        .struct_size = sizeof ops,
        .capabilities = DYNO_CAN_LOAN | DYNO_CAN_SPIN | DYNO_CAN_RELIABLE | DYNO_CAN_THREAD | DYNO_CAN_PROCESS |
                        DYNO_CAN_LOOPBACK,
        .describe = describe,
        .last_error = last_error,
        .open = open_node,
        .close = close_node,
        .sender_open = sender_open,
        .sender_close = sender_close,
        .sender_matched = sender_matched,
        .loan = loan,
        .send = send,
        .receiver_open = receiver_open,
        .receiver_close = receiver_close,
        .receiver_matched = receiver_matched,
        .take = take,
    };
    return &ops;
}
