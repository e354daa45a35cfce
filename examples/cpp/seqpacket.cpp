// A complete adapter in C++: Unix sockets of type SOCK_SEQPACKET, which keep the boundaries of messages. Each receiver
// listens on a socket in the scratch directory, and the sender of its channel connects. To make it your own, replace
// the sockets by your library, class by class: docs/how-to/add-an-adapter.md.
//
//     c++ -std=c++17 -O2 -Wall -Wextra -fPIC -shared -I include -o libdyno_seqpacket.so seqpacket.cpp
#include "dyno_adapter.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

// A packet must fit into the usual send buffer of a socket, 208 KiB.
constexpr uint64_t max_message = 64 * 1024;

[[noreturn]] void fail(const char *call) {
    const bool gone = errno == EPIPE || errno == ECONNRESET;
    throw dyno::Error(gone ? DYNO_PEER_GONE : DYNO_ERROR, std::string(call) + ": " + std::strerror(errno));
}

// A descriptor, closed when it goes out of scope; -1: none.
class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor &&other) noexcept : fd_(other.release()) {}
    Descriptor &operator=(Descriptor &&other) noexcept {
        reset(other.release());
        return *this;
    }
    ~Descriptor() { reset(); }
    void reset(int fd = -1) {
        if (fd_ >= 0) {
            close(fd_);
        }
        fd_ = fd;
    }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int release() {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }
    int fd_;
};

Descriptor new_socket() {
    Descriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) {
        fail("socket");
    }
    return fd;
}

// The address of a receiver. It goes through the open scratch directory, whose own path may be too long for a socket.
sockaddr_un address_of(int scratch, const dyno_channel &channel, uint16_t reader) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%u-%u", scratch, channel.id, reader);
    return address;
}

const sockaddr *any(const sockaddr_un &address) { return reinterpret_cast<const sockaddr *>(&address); }

} // namespace

// One participant.
struct dyno_node {
    explicit dyno_node(const dyno_context &context)
        : participant(context.participant), scratch(open(context.scratch, O_PATH | O_DIRECTORY | O_CLOEXEC)) {
        if (!scratch) {
            fail("open");
        }
    }
    uint16_t participant;
    Descriptor scratch;
};

// The writing end of a channel.
struct dyno_sender {
    dyno_sender(const dyno_node &node, const dyno_channel &channel) : buffer(channel.max_payload) {
        for (uint32_t i = 0; i < channel.reader_count; i++) {
            peers.push_back({address_of(node.scratch.get(), channel, channel.readers[i].participant), Descriptor(), false});
        }
    }

    // Dyno asks repeatedly until all receivers are there; each call continues to connect.
    uint32_t matched() {
        uint32_t connected = 0;
        for (Peer &peer : peers) {
            if (!peer.connected) {
                connect_to(peer);
            }
            connected += peer.connected && peer.socket;
        }
        return connected;
    }

    // If one receiver is gone, the others still get the message.
    void send(size_t length) {
        bool gone = false;
        for (Peer &peer : peers) {
            ssize_t sent = -1;
            do {
                errno = EPIPE;
                sent = peer.socket ? ::send(peer.socket.get(), buffer.data(), length, MSG_NOSIGNAL) : -1;
            } while (sent < 0 && errno == EINTR);
            if (sent < 0) {
                gone = true;
                peer.socket.reset();
            }
        }
        if (gone) {
            errno = EPIPE;
            fail("send");
        }
    }

    std::vector<unsigned char> buffer; // Allocated once; the kernel copies it.

  private:
    struct Peer {
        sockaddr_un address;
        Descriptor socket;
        bool connected;
    };

    static void connect_to(Peer &peer) {
        Descriptor fd = new_socket();
        if (connect(fd.get(), any(peer.address), sizeof peer.address) == 0) {
            fcntl(fd.get(), F_SETFL, 0); // From now on, a send waits for room.
            peer.socket = std::move(fd);
            peer.connected = true;
        }
    }

    std::vector<Peer> peers;
};

// A reading end of a channel.
struct dyno_receiver {
    dyno_receiver(const dyno_node &node, const dyno_channel &channel, int32_t wait)
        : wait(wait), address(address_of(node.scratch.get(), channel, node.participant)), listener(new_socket()),
          buffer(channel.max_payload) {
        if (bind(listener.get(), any(address), sizeof address) != 0) {
            fail("bind");
        }
        bound = true;
        if (listen(listener.get(), 1) != 0) {
            const int error = errno;
            unlink(address.sun_path);
            errno = error;
            fail("listen");
        }
    }
    ~dyno_receiver() {
        if (bound) {
            unlink(address.sun_path);
        }
    }

    bool matched() {
        if (!socket) {
            socket.reset(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        }
        return bool(socket);
    }

    bool take(dyno_on_message on_message, void *user) {
        pollfd readable{socket.get(), POLLIN, 0};
        if (wait == DYNO_WAIT_BLOCK && poll(&readable, 1, DYNO_PATIENCE_MS) <= 0) {
            return false; // No message, or a signal.
        }
        const ssize_t length = recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (length > 0) {
            on_message(user, buffer.data(), size_t(length));
            return true;
        }
        if (length == 0) {
            errno = EPIPE; // The sender has closed its end.
        } else if (errno == EAGAIN || errno == EINTR) {
            return false;
        }
        fail("recv");
    }

  private:
    int32_t wait;
    sockaddr_un address;
    Descriptor listener, socket;
    bool bound = false;
    std::vector<unsigned char> buffer;
};

namespace {

const dyno_description *describe() {
    // The mechanism is the kernel's. For a library, ask the loaded library, not its header.
    static const std::string version = [] {
        utsname kernel{};
        return uname(&kernel) == 0 ? std::string(kernel.release) : std::string("unknown");
    }();
    static const dyno_description description = [] {
        dyno_description d{};
        d.name = "seqpacket";
        d.version = version.c_str();
        d.summary = "One packet per message over Unix sockets of type SOCK_SEQPACKET: the example adapter in C++.";
        d.max_message = max_message;
        return d;
    }();
    return &description;
}

dyno_adapter_ops table() {
    dyno_adapter_ops ops{};
    ops.abi_version = DYNO_ABI_VERSION;
    ops.struct_size = sizeof ops;
    ops.capabilities = DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_RELIABLE | DYNO_CAN_THREAD | DYNO_CAN_PROCESS;
    ops.describe = describe;
    ops.last_error = dyno::last_error_text;
    ops.open = [](const dyno_context *context, dyno_node **out) {
        return dyno::guarded("open", [&] {
            *out = std::make_unique<dyno_node>(*context).release();
            return DYNO_OK;
        });
    };
    ops.close = [](dyno_node *node) { delete node; };
    ops.sender_open = [](dyno_node *node, const dyno_channel *channel, dyno_sender **out) {
        return dyno::guarded("sender_open", [&] {
            *out = std::make_unique<dyno_sender>(*node, *channel).release();
            return DYNO_OK;
        });
    };
    ops.sender_close = [](dyno_sender *sender) { delete sender; };
    ops.sender_matched = [](dyno_sender *sender, uint32_t *receivers) {
        return dyno::guarded("sender_matched", [&] {
            *receivers = sender->matched();
            return DYNO_OK;
        });
    };
    ops.loan = [](dyno_sender *sender, size_t, void **buffer) -> dyno_status {
        *buffer = sender->buffer.data();
        return DYNO_OK;
    };
    ops.send = [](dyno_sender *sender, void *, size_t length) {
        return dyno::guarded("send", [&] {
            sender->send(length);
            return DYNO_OK;
        });
    };
    ops.receiver_open = [](dyno_node *node, const dyno_channel *channel, int32_t wait, dyno_receiver **out) {
        return dyno::guarded("receiver_open", [&] {
            *out = std::make_unique<dyno_receiver>(*node, *channel, wait).release();
            return DYNO_OK;
        });
    };
    ops.receiver_close = [](dyno_receiver *receiver) { delete receiver; };
    ops.receiver_matched = [](dyno_receiver *receiver, uint32_t *matched) {
        return dyno::guarded("receiver_matched", [&] {
            *matched = receiver->matched();
            return DYNO_OK;
        });
    };
    ops.take = [](dyno_receiver *receiver, dyno_on_message on_message, void *user) {
        return dyno::guarded("take", [&] { return receiver->take(on_message, user) ? DYNO_OK : DYNO_NONE; });
    };
    return ops;
}

} // namespace

const dyno_adapter_ops *dyno_adapter(void) {
    static const dyno_adapter_ops ops = table();
    return &ops;
}
