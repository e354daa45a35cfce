#include "connection.hpp"

#include <climits>
#include <condition_variable>
#include <mutex>

namespace dyno::nats {

namespace {

// How long the server may take to accept a connection, in ms.
constexpr int64_t ACCEPT_MS = 10'000;

int queue_depth_of(const dyno_context &context) {
    const long long depth = Options(context).integer("pending", 65'536);
    if (depth < 1 || depth > INT_MAX) {
        throw Error(DYNO_BAD_OPTION, "pending: write 1 to 2147483647 instead of " + std::to_string(depth));
    }
    return static_cast<int>(depth);
}

struct Settings {
    Settings() { checked("natsOptions_Create", natsOptions_Create(&options)); }
    ~Settings() { natsOptions_Destroy(options); }
    Settings(const Settings &) = delete;
    Settings &operator=(const Settings &) = delete;

    natsOptions *options = nullptr;
};

// Without one the library prints what it has to say. What it drops is missed by Dyno.
void on_error(natsConnection *, natsSubscription *, natsStatus, void *) {}

} // namespace

void checked(const char *call, natsStatus status) {
    if (status != NATS_OK) {
        const bool gone = status == NATS_CONNECTION_CLOSED || status == NATS_CONNECTION_DISCONNECTED;
        throw Error(gone ? DYNO_PEER_GONE : DYNO_ERROR, std::string(call) + ": " + natsStatus_GetText(status));
    }
}

Connection::Connection(const dyno_context &context) : queue_depth_(queue_depth_of(context)) {
    const Options options(context);
    const std::string address = context.address;
    const std::string host = address.find(':') == std::string::npos ? address : "[" + address + "]";
    const std::string url = "nats://" + host + ":" + std::to_string(options.integer("port", 14'222));
    const Settings settings;
    natsOptions *const o = settings.options;
    checked("natsOptions_SetURL", natsOptions_SetURL(o, url.c_str()));
    checked("natsOptions_SetTimeout", natsOptions_SetTimeout(o, ACCEPT_MS));
    // Messages of the time without a connection are missed, and nobody would know why where nothing was broken on purpose.
    const bool reconnects = options.boolean("reconnect", false);
    checked("natsOptions_SetAllowReconnect", natsOptions_SetAllowReconnect(o, reconnects));
    checked("natsOptions_SetSendAsap", natsOptions_SetSendAsap(o, options.boolean("send_asap", true)));
    checked("natsOptions_SetMaxPendingMsgs", natsOptions_SetMaxPendingMsgs(o, queue_depth_));
    checked("natsOptions_SetWriteDeadline",
            natsOptions_SetWriteDeadline(o, options.integer("send_timeout_ms", 10'000)));
    checked("natsOptions_SetErrorHandler", natsOptions_SetErrorHandler(o, on_error, nullptr));
    if (options.boolean("tls", false)) {
        // It signs itself, and is called dyno.
        const std::string certificate = std::string(context.scratch) + "/server.crt";
        checked("natsOptions_SetSecure", natsOptions_SetSecure(o, true));
        checked("natsOptions_LoadCATrustedCertificates", natsOptions_LoadCATrustedCertificates(o, certificate.c_str()));
        checked("natsOptions_SetExpectedHostname", natsOptions_SetExpectedHostname(o, "dyno"));
    }
    const natsStatus status = natsConnection_Connect(&library_, o);
    if (status != NATS_OK) {
        throw Error(DYNO_ERROR, "no NATS server accepts at " + url + ": " + natsStatus_GetText(status) +
                                    "; the stack's daemon or one of yours must listen there (option `port`)");
    }
}

Connection::~Connection() {
    natsConnection_Close(library_);
    natsConnection_Destroy(library_);
}

dyno_status Connection::publish(const char *subject, const char *reply, const void *data, size_t length) {
    const int bytes = static_cast<int>(length);
    if (reply) {
        checked("natsConnection_PublishRequest", natsConnection_PublishRequest(library_, subject, reply, data, bytes));
    } else {
        checked("natsConnection_Publish", natsConnection_Publish(library_, subject, data, bytes));
    }
    return DYNO_OK;
}

void Connection::tell(const std::string &subject, const std::string &text) {
    natsConnection_PublishString(library_, subject.c_str(), text.c_str());
}

void Connection::check() const {
    if (natsConnection_IsClosed(library_)) {
        const char *why = "";
        natsConnection_GetLastError(library_, &why);
        throw Error(DYNO_PEER_GONE, std::string("the connection to the NATS server has ended: ") + (why ? why : ""));
    }
}

// Lives until the library is done with it, which may be after its listener.
struct Listener::State {
    explicit State(Handler h) : handler(std::move(h)) {}

    const Handler handler;
    std::mutex mutex;
    std::condition_variable changed;
    bool is_over = false;
};

Listener::Listener(Connection &connection, const std::string &subject, Handler handler)
    : state_(std::make_shared<State>(std::move(handler))) {
    const auto on_message = [](natsConnection *, natsSubscription *, natsMsg *message, void *state) {
        const Message shown(message, natsMsg_Destroy);
        (*static_cast<std::shared_ptr<State> *>(state))->handler(message);
    };
    const auto on_complete = [](void *state) {
        const std::unique_ptr<std::shared_ptr<State>> theirs(static_cast<std::shared_ptr<State> *>(state));
        const std::lock_guard<std::mutex> lock((*theirs)->mutex);
        (*theirs)->is_over = true;
        (*theirs)->changed.notify_all();
    };
    auto theirs = std::make_unique<std::shared_ptr<State>>(state_);
    checked("natsConnection_Subscribe",
            natsConnection_Subscribe(&library_, connection.get(), subject.c_str(), on_message, theirs.get()));
    // From here on it belongs to the library, which gives it back to `on_complete`.
    std::shared_ptr<State> *const closure = theirs.release();
    natsSubscription_SetOnCompleteCB(library_, on_complete, closure);
    natsSubscription_SetPendingLimits(library_, connection.queue_depth(), -1);
}

Listener::~Listener() {
    // It fails where the connection has ended: then the subscription is over as well.
    natsSubscription_Unsubscribe(library_);
    {
        std::unique_lock<std::mutex> lock(state_->mutex);
        state_->changed.wait(lock, [&] { return state_->is_over; });
    }
    natsSubscription_Destroy(library_);
}

Mailbox::Mailbox(Connection &connection, const std::string &subject) {
    checked("natsConnection_SubscribeSync",
            natsConnection_SubscribeSync(&library_, connection.get(), subject.c_str()));
    natsSubscription_SetPendingLimits(library_, connection.queue_depth(), -1);
}

Message Mailbox::take(int64_t patience_ms) {
    natsMsg *message = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&message, library_, patience_ms);
    // It tells once that it has dropped messages, which Dyno misses by itself.
    if (status != NATS_OK && status != NATS_TIMEOUT && status != NATS_SLOW_CONSUMER) {
        checked("natsSubscription_NextMsg", status);
    }
    return Message(message, natsMsg_Destroy);
}

} // namespace dyno::nats
