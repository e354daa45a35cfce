#include "client.hpp"

#include <chrono>
#include <fstream>

using std::chrono::milliseconds;
using std::chrono::system_clock;

namespace dyno::kuksa {

namespace {

// What makes a broker keep a value that is older than the newest.
uint32_t queue_depth_of(const dyno_context &context) {
    const long long depth = Options(context).integer("broker_queue", 1000);
    if (depth > 1000) {
        throw Error(DYNO_BAD_OPTION, "broker_queue: the databroker takes 0 to 1000, not " + std::to_string(depth));
    }
    return static_cast<uint32_t>(depth);
}

// The whole of a file that the stack's daemon makes in the trial's scratch directory.
std::string made(const dyno_context &context, const char *name, const char *what) {
    const std::string path = std::string(context.scratch) + "/" + name;
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.empty()) {
        throw Error(DYNO_ERROR, std::string("cannot read ") + what + " " + path + ": the stack's daemon makes it (`prepare`)");
    }
    return text;
}

// Empty: calls have none.
std::string token_of(const dyno_context &context) {
    const Options options(context);
    if (!options.boolean("token", false)) {
        return "";
    }
    if (options.text("receive", "grpc") == "viss") {
        throw Error(DYNO_BAD_OPTION, "token: goes with receive = \"grpc\" alone; over VISS none is sent");
    }
    return made(context, "token", "the token for the databroker,");
}

std::shared_ptr<::grpc::ChannelCredentials> credentials_of(const dyno_context &context) {
    if (!Options(context).boolean("tls", false)) {
        return ::grpc::InsecureChannelCredentials();
    }
    // It signs itself, and names the address that is connected to.
    ::grpc::SslCredentialsOptions options;
    options.pem_root_certs = made(context, "server.crt", "the databroker's certificate,");
    return ::grpc::SslCredentials(options);
}

unsigned short viss_port_of(const dyno_context &context) {
    const Options options(context);
    if (options.text("receive", "grpc") != "viss") {
        return 0;
    }
    const long long port = options.integer("viss_port", 15'556);
    if (port < 1 || port > 65'535) {
        throw Error(DYNO_BAD_OPTION, "viss_port: write 1 to 65535 instead of " + std::to_string(port));
    }
    return static_cast<unsigned short>(port);
}

std::string place_of(const dyno_context &context) {
    const std::string address = context.address;
    const std::string port = std::to_string(Options(context).integer("port", 15'555));
    return address.find(':') == std::string::npos ? "ipv4:" + address + ":" + port
                                                  : "ipv6:[" + address + "]:" + port;
}

} // namespace

dyno_status kind(const ::grpc::Status &status) {
    return status.error_code() == ::grpc::StatusCode::UNAVAILABLE ? DYNO_PEER_GONE : DYNO_ERROR;
}

std::string said(const ::grpc::Status &status) {
    return status.error_message() + " (code " + std::to_string(status.error_code()) + ")";
}

// The broker's task for a subscription has died.
struct BrokenOff : Error {
    using Error::Error;
};

// A text on its way.
struct Client::Telling {
    ::grpc::ClientContext context;
    v2::PublishValueRequest request;
    v2::PublishValueResponse response;
};

Client::Client(const dyno_context &context)
    : token_(token_of(context)), queue_depth_(queue_depth_of(context)), streams_(Options(context).text("publish", "stream") == "stream"),
      send_timeout_ms_(Options(context).integer("send_timeout_ms", 10'000)), viss_port_(viss_port_of(context)),
      address_(context.address), place_(place_of(context)) {
    ::grpc::ChannelArguments arguments;
    // A participant has a connection of its own, also where several live in one process.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = v2::VAL::NewStub(::grpc::CreateCustomChannel(place_, credentials_of(context), arguments));
    ::grpc::ClientContext call;
    call.set_deadline(system_clock::now() + PATIENCE);
    authorize(call);
    v2::GetServerInfoResponse info;
    const auto status = stub_->GetServerInfo(&call, {}, &info);
    check_token("GetServerInfo", status);
    if (!status.ok()) {
        throw Error(DYNO_ERROR, "no databroker answers at " + place_ + ": " + said(status) +
                                    "; the stack's daemon or one of yours must listen there (option `port`)");
    }
}

Client::~Client() {
    std::unique_lock<std::mutex> lock(mutex_);
    told_.wait(lock, [&] { return tellings_ == 0; });
}

void Client::authorize(::grpc::ClientContext &call) const {
    if (!token_.empty()) {
        call.AddMetadata("authorization", "Bearer " + token_);
    }
}

void Client::check_token(const char *what, const ::grpc::Status &status) const {
    const auto code = status.error_code();
    if (code != ::grpc::StatusCode::UNAUTHENTICATED && code != ::grpc::StatusCode::PERMISSION_DENIED) {
        return;
    }
    const std::string where = std::string(what) + ": the databroker at " + place_;
    if (token_.empty()) {
        throw Error(DYNO_ERROR, where + " wants a token, and the stack has none: " + said(status) +
                                    "; set the option `token` with a daemon that makes one, as in the stack kuksa-token");
    }
    throw Error(DYNO_ERROR, where + " does not take the stack's token: " + said(status) +
                                "; it must be signed with the key whose public half --jwt-public-key names");
}

int32_t Client::id_of(const std::string &path) {
    ::grpc::ClientContext call;
    call.set_deadline(system_clock::now() + PATIENCE);
    authorize(call);
    v2::ListMetadataRequest request;
    request.set_root(path);
    v2::ListMetadataResponse response;
    const auto status = stub_->ListMetadata(&call, request, &response);
    check_token("ListMetadata", status);
    if (!status.ok() || response.metadata_size() != 1) {
        throw Error(DYNO_ERROR, "ListMetadata(" + path + "): " + (status.ok() ? "no such signal" : said(status)) +
                                    "; the VSS tree of the stack file has a branch for each channel of a trial, or "
                                    "wants one more");
    }
    return response.metadata(0).id();
}

void Client::tell(int32_t id, const std::string &text) {
    auto *const telling = new Telling;
    telling->context.set_deadline(system_clock::now() + PATIENCE);
    authorize(telling->context);
    telling->request.mutable_signal_id()->set_id(id);
    telling->request.mutable_data_point()->mutable_value()->set_string(text);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        tellings_++;
    }
    // One that does not arrive leaves both ends unmatched, which Dyno reports.
    stub_->async()->PublishValue(&telling->context, &telling->request, &telling->response,
                                 [this, telling](const ::grpc::Status &) {
                                     delete telling;
                                     const std::lock_guard<std::mutex> lock(mutex_);
                                     tellings_--;
                                     told_.notify_all();
                                 });
}

ProviderStream::ProviderStream(Client &client, const v2::OpenProviderStreamRequest &claim, int32_t id) {
    const auto end = system_clock::now() + PATIENCE;
    for (;;) {
        context = std::make_unique<::grpc::ClientContext>();
        client.authorize(*context);
        stream = client.stub().OpenProviderStream(context.get());
        v2::OpenProviderStreamResponse response;
        if (stream->Write(claim) && stream->Read(&response)) {
            return;
        }
        // The broker takes a moment to see that the provider before is gone.
        const auto status = stream->Finish();
        if (status.error_code() != ::grpc::StatusCode::ALREADY_EXISTS || system_clock::now() > end) {
            throw Error(DYNO_ERROR, "OpenProviderStream: the databroker does not take the claim of signal " +
                                        std::to_string(id) + ": " + said(status));
        }
        std::this_thread::sleep_for(milliseconds(5));
    }
}

Provider::Provider(Client &client, int32_t id) : client_(client), id_(id) {
    value_.mutable_signal_id()->set_id(id);
    if (!client.streams()) {
        return;
    }
    v2::OpenProviderStreamRequest claim;
    (*claim.mutable_provide_signal_request()->mutable_signals_sample_intervals())[id].set_interval_ms(0);
    stream_ = std::make_unique<ProviderStream>(client, claim, id);
    listener_ = std::thread(&Provider::listen, this);
}

Provider::~Provider() {
    if (stream_) {
        // What the broker has not read is not waited for.
        stream_->context->TryCancel();
        listener_.join();
    }
}

// The broker speaks of errors alone, then and when it ends the stream.
void Provider::listen() {
    v2::OpenProviderStreamResponse response;
    while (stream_->stream->Read(&response)) {
        if (!response.has_publish_values_response() || is_refused_.load()) {
            continue;
        }
        for (const auto &[id, error] : response.publish_values_response().status()) {
            refusal_ = "the databroker refuses a value of signal " + std::to_string(id) + ": " + error.message();
            is_refused_.store(true);
            break;
        }
    }
    const auto status = stream_->stream->Finish();
    if (!is_refused_.load()) {
        refusal_ = "the databroker has ended the provider's stream: " + said(status);
        is_refused_.store(true);
    }
}

void Provider::check() {
    if (is_refused_.load(std::memory_order_acquire)) {
        throw Error(DYNO_ERROR, refusal_);
    }
}

std::string &Provider::text() {
    if (!client_.streams()) {
        return *value_.mutable_data_point()->mutable_value()->mutable_string();
    }
    auto &points = *request_.mutable_publish_values_request()->mutable_data_points();
    return *points[id_].mutable_value()->mutable_string();
}

void Provider::publish() {
    if (client_.streams()) {
        check();
        if (!stream_->stream->Write(request_)) {
            throw Error(DYNO_PEER_GONE, "ClientReaderWriter::Write: the databroker has ended the provider's stream");
        }
        return;
    }
    ::grpc::ClientContext call;
    call.set_deadline(system_clock::now() + milliseconds(client_.send_timeout_ms()));
    client_.authorize(call);
    v2::PublishValueResponse response;
    const auto status = client_.stub().PublishValue(&call, value_, &response);
    if (!status.ok()) {
        throw Error(kind(status), "PublishValue: " + said(status));
    }
}

Subscriber::Subscriber(Client &client, int32_t id, uint32_t buffer_size, Handler handler)
    : id_(id), handler_(std::move(handler)) {
    request_.add_signal_ids(id);
    request_.set_buffer_size(buffer_size);
    client.authorize(context_);
    client.stub().async()->SubscribeById(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
    std::unique_lock<std::mutex> lock(mutex_);
    const bool told = changed_.wait_for(lock, PATIENCE, [&] { return stands_ || is_over_; });
    if (stands_) {
        return;
    }
    context_.TryCancel();
    changed_.wait(lock, [&] { return is_over_; });
    const std::string what = "SubscribeById of signal " + std::to_string(id) + ": ";
    if (told && status_.error_code() == ::grpc::StatusCode::CANCELLED) {
        throw BrokenOff(DYNO_ERROR, what + said(status_));
    }
    throw Error(DYNO_ERROR, what + (told ? said(status_) : "no answer"));
}

std::unique_ptr<Subscriber> Subscriber::of(Client &client, int32_t id, uint32_t buffer_size, const Handler &handler) {
    const auto end = system_clock::now() + PATIENCE;
    for (;;) {
        try {
            return std::unique_ptr<Subscriber>(new Subscriber(client, id, buffer_size, handler));
        } catch (const BrokenOff &) {
            if (system_clock::now() > end) {
                throw;
            }
        }
        std::this_thread::sleep_for(milliseconds(20));
    }
}

Subscriber::~Subscriber() {
    context_.TryCancel();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return is_over_; });
}

void Subscriber::OnReadDone(bool ok) {
    if (!ok) {
        return;
    }
    if (stands_) {
        const auto entry = response_.entries().find(id_);
        if (entry != response_.entries().end()) {
            handler_(entry->second.value().string());
        }
    } else {
        // The value from before, if there is one.
        const std::lock_guard<std::mutex> lock(mutex_);
        stands_ = true;
        changed_.notify_all();
    }
    StartRead(&response_);
}

void Subscriber::OnDone(const ::grpc::Status &status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = status;
    is_over_ = true;
    changed_.notify_all();
}

void Subscriber::check() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_over_) {
        throw Error(kind(status_), "the databroker has ended a subscription: " + said(status_));
    }
}

} // namespace dyno::kuksa
