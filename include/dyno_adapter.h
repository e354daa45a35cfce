/*
 * The C ABI of Dyno's adapters, version 1.
 *
 * An adapter drives one communication library or mechanism. Outside of Dyno's own source it is a
 * shared library named `libdyno_NAME.so` that exports one symbol:
 *
 *     const dyno_adapter_ops *dyno_adapter(void);
 *
 * Dyno looks for it in the directories of the environment variable DYNO_ADAPTER_PATH, then in those
 * that `cargo xtask adapters` fills. How to write one: docs/how-to/add-an-adapter.md; `dyno new-adapter
 * NAME` writes a working one to begin with, and `dyno conformance LIBRARY.so` examines it.
 *
 * Versions.
 *   This header only ever grows at the end of its structures. A table is served when its
 *   `abi_version` is 1 to DYNO_ABI_VERSION of the Dyno that loads it and its `struct_size` reaches
 *   at least to `subscribe`. Operations that lie beyond `struct_size`, or are NULL, are absent:
 *   then the capability that needs them must be absent too. A table longer than Dyno knows is
 *   served; what lies beyond is not looked at. All else is refused, with the reason.
 *
 * Threads.
 *   Dyno calls `describe` first, once, then opens one or several nodes. A node, and what was made
 *   with it, may move to another thread but is used by one thread at a time each. Different nodes,
 *   and different senders and receivers of one node, may be used by different threads at once.
 *   Messages of different subscriptions may be reported from different threads at once.
 *
 * Waiting.
 *   No operation waits for a peer, not even to be rid of messages: `sender_close` and `close` return
 *   whatever has not been sent. `take` of a receiver made with DYNO_WAIT_BLOCK sleeps until a message is
 *   there, a signal interrupts it, or DYNO_PATIENCE_MS have passed, whichever comes first; a signal
 *   reaches the calling thread alone, so a library that waits on another one's behalf needs the time-out.
 *   `take` of one made with DYNO_WAIT_SPIN returns at once (with DYNO_ASKS: when it is answered). Only
 *   `loan` and `send` may wait, for room, and only while the peers live.
 *
 * Loans.
 *   Each `loan` is followed by one `send` of the same buffer and the same length, before anything else is
 *   asked of that sender: Dyno neither sends less than it was lent nor abandons a loan. What `send`
 *   returns does not matter: the memory is the library's again.
 *
 * Peers that go.
 *   Messages need not outlive `sender_close`: Dyno closes a sender when its receivers have what they wait
 *   for. `take` shows what has arrived, also after the sender is gone, and then returns DYNO_NONE, or
 *   DYNO_PEER_GONE where the library notices. `send` without a receiver that is left returns
 *   DYNO_PEER_GONE where the library notices, else DYNO_OK or DYNO_REFUSED; it does not wait for room that
 *   nobody will make. When one of several readers is gone, what `send` accepts reaches the others; it may
 *   return DYNO_PEER_GONE instead, which ends the trial.
 *
 * Names.
 *   Whatever others on the machine can see by name (sockets, shared memory, services) carries the
 *   channel's name or the session's name, or lies in the scratch directory. What has such a name
 *   and lies elsewhere is claimed first (dyno_context.claim), so that it can be removed after a crash.
 *   A process that reports a failure ends by quick_exit(3), which calls nothing of atexit(3), and others of
 *   its trial may be killed: claim also what a library removes at exit. Handlers of at_quick_exit(3) run.
 *
 * Errors.
 *   A negative status is an error; `last_error` then says on the same thread what happened. No
 *   exception may leave an operation.
 *
 * Hot path.
 *   `loan`, `send` and `take` are inside the measured time: they do not allocate, lock, log or
 *   format beyond what the library itself does, and put no queue of their own before the message.
 */
#ifndef DYNO_ADAPTER_H
#define DYNO_ADAPTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define DYNO_ABI_VERSION 1u

/* The longest that a blocking `take` sleeps, in milliseconds. */
#define DYNO_PATIENCE_MS 100

/* What an operation came to. */
typedef int32_t dyno_status;
#define DYNO_OK 0           /* Done. `send`: accepted, however long that took. `take`: one message was shown. */
#define DYNO_WAITED 1       /* As DYNO_OK. Adapters said with it that they had waited; Dyno measures that itself. */
#define DYNO_REFUSED 2      /* `loan` and `send`: no room, and the stack does not wait: the message is lost. */
#define DYNO_NONE 3         /* `take`: no message. */
#define DYNO_ERROR (-1)       /* The library or the system reported an error. */
#define DYNO_UNSUPPORTED (-2) /* The adapter cannot do this. */
#define DYNO_PEER_GONE (-3)   /* The other side has gone. */
#define DYNO_BAD_OPTION (-4)  /* An option of the stack is wrong. */

/* Capabilities: Dyno never asks for what is not declared. */
/* With some options `loan` gives memory that receivers read, or that the device sends. Memory that the library or
 * the kernel copies on `send`, into a segment, a packet or a socket, is none, whoever allocated it. */
#define DYNO_CAN_LOAN (UINT64_C(1) << 0)
#define DYNO_CAN_SPIN (UINT64_C(1) << 1)     /* Receivers can be made with DYNO_WAIT_SPIN, */
#define DYNO_CAN_BLOCK (UINT64_C(1) << 2)    /* with DYNO_WAIT_BLOCK, */
#define DYNO_CAN_CALLBACK (UINT64_C(1) << 3) /* and subscriptions can be made. At least one of the three. */
#define DYNO_CAN_RELIABLE (UINT64_C(1) << 4)    /* Some options lose no message while both sides live. */
#define DYNO_CAN_BEST_EFFORT (UINT64_C(1) << 5) /* With some, a slow receiver loses messages instead of holding up the sender. */
#define DYNO_CAN_CALL (UINT64_C(1) << 6)     /* Request and response of the library's own; see dyno_channel. */
#define DYNO_CAN_THREAD (UINT64_C(1) << 7)   /* The two sides may be nodes of one process, */
#define DYNO_CAN_PROCESS (UINT64_C(1) << 8)  /* processes of one host, */
#define DYNO_CAN_HOST (UINT64_C(1) << 9)     /* processes of different hosts. At least one of the three. */
#define DYNO_CAN_LOOPBACK (UINT64_C(1) << 10) /* The sender's own node gives the message back (only `null`). */
#define DYNO_SENDS_LATER (UINT64_C(1) << 11) /* `send` puts the message into a queue, from which a thread of the library's own sends
                                              * it: how long `send` takes says nothing of room further on. */
#define DYNO_ASKS (UINT64_C(1) << 12)        /* Receivers made with DYNO_WAIT_SPIN ask for what is kept: each `take` is a question and
                                              * returns when it is answered, with DYNO_NONE where the answer is no new message. Only
                                              * stack files with `asks = true` have them. */

/* The kinds of options; their values are always passed as text. */
#define DYNO_OPTION_BOOL 1  /* `true` or `false` */
#define DYNO_OPTION_INT 2   /* decimal, zero or more; `queue_depth` is one or more */
#define DYNO_OPTION_FLOAT 3 /* such as `0.5` */
#define DYNO_OPTION_TEXT 4
#define DYNO_OPTION_ONE_OF 5 /* one of `values` */

/* One option that the adapter understands. */
typedef struct dyno_option_spec {
    const char *name;          /* Its key in stack files. */
    int32_t kind;              /* DYNO_OPTION_* */
    int32_t most;              /* DYNO_OPTION_INT: the largest value that it can have here; 0: no limit. */
    const char *const *values; /* DYNO_OPTION_ONE_OF: the values, then NULL. Otherwise NULL. */
    const char *default_value; /* What holds when it is left out; NULL: the library's own default. */
    const char *doc;           /* One line: what it does, with its unit. */
} dyno_option_spec;

/* What the adapter says of itself. Everything lives as long as the library is loaded. */
typedef struct dyno_description {
    const char *name;    /* As stack files write it, and as in the file's name. */
    const char *version; /* What the *loaded* library reports, not the header it was built with. */
    const char *summary; /* One or two sentences: the mechanism, and what the adapter adds to it. */
    uint64_t max_message;     /* The largest message in bytes; 0: no limit of its own. */
    uint64_t fragments_above; /* The adapter itself cuts larger messages up; 0: it never does. */
    uint32_t max_receivers;   /* The most receivers of one channel; 0: no limit. */
    uint32_t option_count;
    const dyno_option_spec *options;
    const char *unavailable; /* NULL, or why it cannot be used here and the command that changes that. */
} dyno_description;

/* One option of the stack; name and type were checked against the description. */
typedef struct dyno_option {
    const char *name;
    const char *value;
} dyno_option;

/* What a node is opened with. It lives only for the call: copy what you keep. */
typedef struct dyno_context {
    const char *session; /* Unique on the machine for this trial: [A-Za-z0-9._-], at most 40. */
    /* A directory of the trial's own, removed with all it holds afterwards. Its path may be as long as paths can
     * be (PATH_MAX), the name of a Unix socket has 107 characters: bind it below an open descriptor of the directory,
     * /proc/self/fd/N/NAME, or refuse in `open`. */
    const char *scratch;
    /* The IP address at which other hosts reach this one: IPv4 or IPv6, as text such as 192.0.2.1 or 2001:db8::1.
     * What cannot be used is refused, here or when an end is opened. */
    const char *address;
    uint16_t participant; /* The number of the participant within the trial. */
    /* Only so many bytes at the beginning of each received message are looked at; 0: all are. A message is shown in its
     * whole length nevertheless. What would have to be put together from pieces need not be. */
    uint16_t looked_at;
    uint32_t option_count;
    const dyno_option *options;
    /* Notes that something outside `scratch` is about to be created, so that it is removed after a
     * crash. `kind`: "file" with its path, or "mqueue" with the name given to mq_open. Call it as
     * context->claim(context, kind, name) while the context lives. */
    dyno_status (*claim)(const struct dyno_context *context, const char *kind, const char *name);
    void *host; /* Dyno's own. */
} dyno_context;

/* One receiver of a channel. This structure does not grow. */
typedef struct dyno_endpoint {
    const char *address;  /* The IP address of its host. */
    uint16_t participant; /* Its number within the trial. */
    uint16_t port;        /* A port that no other endpoint of the trial has, for UDP and TCP. */
    uint32_t reserved;
} dyno_endpoint;

/* What a channel carries.
 *
 * With DYNO_CAN_CALL the two directions of a call are two channels that name each other as
 * `partner`: the caller has a sender of the requests' channel and a receiver (or subscription) of
 * the responses' channel, the provider the reverse, in either order; a node joins its two ends to
 * one client or one server of the library. A sender of responses answers the request that was taken
 * (or reported) last; it is not used within the `on_message` of a `take`, but may be within that of a
 * subscription, without having been asked whether it is matched. Where there is no request to answer,
 * `loan` or `send` returns DYNO_REFUSED. The caller's ends are matched when the provider is there; the
 * provider's when its caller is, or, where the library does not tell, when the service is offered.
 * Without the capability all channels carry messages. */
#define DYNO_CARRIES_MESSAGES 0
#define DYNO_CARRIES_REQUESTS 1
#define DYNO_CARRIES_RESPONSES 2

/* One named path: one writer, one or several readers. It lives only for the call. */
typedef struct dyno_channel {
    const char *name;    /* Unique on the machine; starts with the session's name: [A-Za-z0-9._-]. */
    const char *partner; /* The other channel of a call, or NULL. */
    uint64_t max_payload; /* The largest message in bytes. Shorter ones occur, down to 8 bytes. */
    uint16_t id;          /* Its number within the trial. */
    uint16_t writer;      /* The participant that sends. */
    int32_t carries;      /* DYNO_CARRIES_* */
    const char *writer_address; /* The IP address of the writer's host. */
    const dyno_endpoint *readers;
    uint32_t reader_count;
    uint32_t reserved;
} dyno_channel;

/* How a receiver waits. */
#define DYNO_WAIT_SPIN 1
#define DYNO_WAIT_BLOCK 2

/* The adapter's own; Dyno only holds pointers to them. */
typedef struct dyno_node dyno_node;
typedef struct dyno_sender dyno_sender;
typedef struct dyno_receiver dyno_receiver;
typedef struct dyno_subscription dyno_subscription;

/* Shows one message where the library put it; it does not throw. The bytes need to stay until it returns. */
typedef void (*dyno_on_message)(void *user, const void *data, size_t length);

/* Writes one message of `length` bytes to `buffer`; it does not throw. */
typedef void (*dyno_fill)(void *user, void *buffer, size_t length);

/* The operations. */
typedef struct dyno_adapter_ops {
    uint32_t abi_version;  /* DYNO_ABI_VERSION */
    uint32_t struct_size;  /* sizeof(dyno_adapter_ops) */
    uint64_t capabilities; /* DYNO_CAN_* */

    /* Cheap and without side effects. Never NULL. */
    const dyno_description *(*describe)(void);
    /* The text of the last error on the calling thread, valid until its next call. Never NULL. */
    const char *(*last_error)(void);

    /* Opens the library for one participant. `close` comes after everything made with the node is gone. */
    dyno_status (*open)(const dyno_context *context, dyno_node **node);
    void (*close)(dyno_node *node);

    /* The writing end of a channel. */
    dyno_status (*sender_open)(dyno_node *node, const dyno_channel *channel, dyno_sender **sender);
    void (*sender_close)(dyno_sender *sender);
    /* How many receivers would get a message sent now; also drives the connection where that takes steps. */
    dyno_status (*sender_matched)(dyno_sender *sender, uint32_t *receivers);
    /* Lends memory for one message of `length` bytes: DYNO_OK or DYNO_REFUSED. What was
     * lent is given to `send` next, filled. */
    dyno_status (*loan)(dyno_sender *sender, size_t length, void **buffer);
    /* Sends what `loan` lent: DYNO_OK or DYNO_REFUSED. */
    dyno_status (*send)(dyno_sender *sender, void *buffer, size_t length);

    /* A reading end from which Dyno takes; `wait`: DYNO_WAIT_*. */
    dyno_status (*receiver_open)(dyno_node *node, const dyno_channel *channel, int32_t wait, dyno_receiver **receiver);
    void (*receiver_close)(dyno_receiver *receiver);
    /* Whether the sender is known, so that what it sends now arrives: 0 or 1. Before there is one: 0. */
    dyno_status (*receiver_matched)(dyno_receiver *receiver, uint32_t *matched);
    /* Takes the next message, if there is one, and shows it to `on_message`: DYNO_OK or DYNO_NONE. */
    dyno_status (*take)(dyno_receiver *receiver, dyno_on_message on_message, void *user);

    /* A reading end whose messages the library's own thread gives to `on_message`. When
     * `subscription_close` returns, `on_message` is not called any more. Needed for DYNO_CAN_CALLBACK. */
    dyno_status (*subscribe)(dyno_node *node, const dyno_channel *channel, dyno_on_message on_message, void *user,
                             dyno_subscription **subscription);
    void (*subscription_close)(dyno_subscription *subscription);
    dyno_status (*subscription_matched)(dyno_subscription *subscription, uint32_t *matched);

    /* Instead of `loan` and `send`, which may then be NULL, for libraries that write a message within one call:
     * has `fill` write into memory for `length` bytes, once and before it returns, and sends it: DYNO_OK or
     * DYNO_REFUSED, with which `fill` need not have been called. Used where it is there. */
    dyno_status (*fill_and_send)(dyno_sender *sender, size_t length, dyno_fill fill, void *user);
} dyno_adapter_ops;

#if defined(__GNUC__)
#define DYNO_EXPORT __attribute__((visibility("default")))
#else
#define DYNO_EXPORT
#endif

/* The one symbol that an adapter exports. */
DYNO_EXPORT const dyno_adapter_ops *dyno_adapter(void);

#ifdef __cplusplus
}
#endif
#endif
