#include "viss.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <sys/socket.h>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;

namespace dyno::kuksa {

struct VissSubscriber::Socket {
    asio::io_context context;
    websocket::stream<asio::ip::tcp::socket> stream{context};
    beast::flat_buffer buffer;

    // The next message, whose bytes stay until `consume`.
    std::string_view read() {
        stream.read(buffer);
        const auto bytes = buffer.data();
        return {static_cast<const char *>(bytes.data()), bytes.size()};
    }
    void consume() { buffer.consume(buffer.size()); }
};

namespace {

// What stands behind `"key":"` and before the next quote: the broker writes no blanks, and base64 has no quotes.
// False: there is no such text.
bool text_of(std::string_view json, std::string_view key, std::string &text) {
    const std::string begin = "\"" + std::string(key) + "\":\"";
    const size_t at = json.find(begin);
    const size_t end = at == std::string_view::npos ? at : json.find('"', at + begin.size());
    if (end == std::string_view::npos) {
        return false;
    }
    text.assign(json.substr(at + begin.size(), end - at - begin.size()));
    return true;
}

} // namespace

// The broker listens for gRPC, and a moment later for VISS. Databroker 0.7.0 also breaks off the connection of who subscribes to a signal
// whose provider has just gone, as it does over gRPC (see Subscriber::of).
VissSubscriber::VissSubscriber(const std::string &address, unsigned short port, const std::string &path, Handler handler)
    : handler_(std::move(handler)) {
    const auto end = std::chrono::steady_clock::now() + PATIENCE;
    for (;;) {
        try {
            subscribe(address, port, path);
            break;
        } catch (const boost::system::system_error &e) {
            if (std::chrono::steady_clock::now() > end) {
                throw Error(DYNO_ERROR, "no databroker answers VISS at " + address + " port " + std::to_string(port) + ": " + e.what() +
                                            "; the stack's daemon must listen there (option `viss_port`, --enable-viss)");
            }
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    listener_ = std::thread(&VissSubscriber::listen, this);
}

void VissSubscriber::subscribe(const std::string &address, unsigned short port, const std::string &path) {
    socket_ = std::make_unique<Socket>();
    auto &stream = socket_->stream;
    stream.next_layer().connect({asio::ip::make_address(address), port});
    stream.next_layer().set_option(asio::ip::tcp::no_delay(true));
    stream.read_message_max(0);
    // The version that is spoken (VISS version 2, TRANSPORT, 5.1).
    stream.set_option(websocket::stream_base::decorator(
        [](websocket::request_type &request) { request.set(beast::http::field::sec_websocket_protocol, "VISSv2"); }));
    stream.handshake(address + ":" + std::to_string(port), "/");
    stream.write(asio::buffer(R"({"action":"subscribe","path":")" + path + R"(","requestId":"dyno"})"));
    const std::string answer(socket_->read());
    socket_->consume();
    std::string id;
    if (!text_of(answer, "subscriptionId", id)) {
        throw Error(DYNO_ERROR, "VISS subscribe of " + path + ": " + answer);
    }
}

void VissSubscriber::listen() {
    std::string value;
    bool is_first = true;
    try {
        for (;;) {
            const bool is_value = text_of(socket_->read(), "value", value);
            socket_->consume();
            // The value from before, if there is one.
            if (is_value && !is_first && !ends_.load()) {
                handler_(value);
            }
            is_first = false;
        }
    } catch (const boost::system::system_error &e) {
        failure_ = std::string("the databroker has ended a VISS subscription: ") + e.what();
    }
    is_over_.store(true, std::memory_order_release);
}

VissSubscriber::~VissSubscriber() {
    ends_.store(true);
    // Wakes the listener.
    ::shutdown(socket_->stream.next_layer().native_handle(), SHUT_RDWR);
    listener_.join();
}

void VissSubscriber::check() {
    if (is_over_.load(std::memory_order_acquire)) {
        throw Error(DYNO_PEER_GONE, failure_);
    }
}

} // namespace dyno::kuksa
