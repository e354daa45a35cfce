// The table of operations of an adapter, from its four classes:
//
//     dyno_node(const dyno_context &)
//     dyno_sender(dyno_node &, const dyno_channel &): uint32_t matched(), and
//         void *room(), dyno_status send(size_t), where it has a buffer of its own, or
//         dyno_status loan(size_t, void **), dyno_status send(void *, size_t), where the library lends one
//     dyno_receiver(dyno_node &, const dyno_channel &, bool blocks): bool matched(), dyno_status take(dyno_on_message, void *)
//     dyno_subscription(dyno_node &, const dyno_channel &, dyno_on_message, void *): bool matched()
//
// All throw dyno::Error. A class that a library has no use for is dyno::None.
#ifndef DYNO_OPERATIONS_HPP
#define DYNO_OPERATIONS_HPP

#include "dyno_adapter.hpp"

#include <type_traits>
#include <utility>

namespace dyno {

// In the place of a class that an adapter does not have.
struct None {};

// Whether a sender lends memory of the library.
template <typename Sender, typename = void> struct Lends : std::false_type {};
template <typename Sender>
struct Lends<Sender, std::void_t<decltype(std::declval<Sender &>().loan(size_t{}, static_cast<void **>(nullptr)))>>
    : std::true_type {};

template <typename Node, typename Sender, typename Receiver, typename Subscription>
constexpr dyno_adapter_ops operations(uint64_t capabilities, const dyno_description *(*describe)(void)) {
    dyno_adapter_ops ops = {};
    ops.abi_version = DYNO_ABI_VERSION;
    ops.struct_size = sizeof(dyno_adapter_ops);
    ops.capabilities = capabilities;
    ops.describe = describe;
    ops.last_error = last_error_text;
    ops.open = [](const dyno_context *context, dyno_node **node) {
        return guarded("open", [&] { return *node = new Node(*context), DYNO_OK; });
    };
    ops.close = [](dyno_node *node) { delete static_cast<Node *>(node); };
    ops.sender_open = [](dyno_node *node, const dyno_channel *channel, dyno_sender **sender) {
        return guarded("sender_open", [&] { return *sender = new Sender(*static_cast<Node *>(node), *channel), DYNO_OK; });
    };
    ops.sender_close = [](dyno_sender *sender) { delete static_cast<Sender *>(sender); };
    ops.sender_matched = [](dyno_sender *sender, uint32_t *receivers) {
        return guarded("sender_matched", [&] { return *receivers = static_cast<Sender *>(sender)->matched(), DYNO_OK; });
    };
    if constexpr (Lends<Sender>::value) {
        ops.loan = [](dyno_sender *sender, size_t length, void **buffer) {
            return guarded("loan", [&] { return static_cast<Sender *>(sender)->loan(length, buffer); });
        };
        ops.send = [](dyno_sender *sender, void *buffer, size_t length) {
            return guarded("send", [&] { return static_cast<Sender *>(sender)->send(buffer, length); });
        };
    } else {
        ops.loan = [](dyno_sender *sender, size_t, void **buffer) { return *buffer = static_cast<Sender *>(sender)->room(), DYNO_OK; };
        ops.send = [](dyno_sender *sender, void *, size_t length) {
            return guarded("send", [&] { return static_cast<Sender *>(sender)->send(length); });
        };
    }
    // Also without a wait of its own an adapter has the operations: what is not declared is refused.
    if constexpr (std::is_same_v<Receiver, None>) {
        ops.receiver_open = [](dyno_node *, const dyno_channel *, int32_t, dyno_receiver **) {
            last_error() = "receiver_open: this library only calls back";
            return dyno_status{DYNO_UNSUPPORTED};
        };
        ops.receiver_close = [](dyno_receiver *) {};
        ops.receiver_matched = [](dyno_receiver *, uint32_t *) { return dyno_status{DYNO_UNSUPPORTED}; };
        ops.take = [](dyno_receiver *, dyno_on_message, void *) { return dyno_status{DYNO_UNSUPPORTED}; };
    } else {
        ops.receiver_open = [](dyno_node *node, const dyno_channel *channel, int32_t wait, dyno_receiver **receiver) {
            return guarded("receiver_open", [&] {
                return *receiver = new Receiver(*static_cast<Node *>(node), *channel, wait == DYNO_WAIT_BLOCK), DYNO_OK;
            });
        };
        ops.receiver_close = [](dyno_receiver *receiver) { delete static_cast<Receiver *>(receiver); };
        ops.receiver_matched = [](dyno_receiver *receiver, uint32_t *matched) {
            return guarded("receiver_matched", [&] { return *matched = static_cast<Receiver *>(receiver)->matched(), DYNO_OK; });
        };
        ops.take = [](dyno_receiver *receiver, dyno_on_message on_message, void *user) {
            return guarded("take", [&] { return static_cast<Receiver *>(receiver)->take(on_message, user); });
        };
    }
    if constexpr (!std::is_same_v<Subscription, None>) {
        ops.subscribe = [](dyno_node *node, const dyno_channel *channel, dyno_on_message on_message, void *user,
                           dyno_subscription **subscription) {
            return guarded("subscribe", [&] {
                return *subscription = new Subscription(*static_cast<Node *>(node), *channel, on_message, user), DYNO_OK;
            });
        };
        ops.subscription_close = [](dyno_subscription *subscription) { delete static_cast<Subscription *>(subscription); };
        ops.subscription_matched = [](dyno_subscription *subscription, uint32_t *matched) {
            return guarded("subscription_matched", [&] { return *matched = static_cast<Subscription *>(subscription)->matched(), DYNO_OK; });
        };
    }
    return ops;
}

} // namespace dyno
#endif
