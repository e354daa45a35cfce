#include "links.hpp"

#include <chrono>

using std::chrono::milliseconds;
using std::chrono::system_clock;

namespace dyno::grpc {

namespace {

// How long a reader may take to say that it is there before it is asked again.
constexpr milliseconds MEET{1'000};

void checked(const char *call, const ::grpc::Status &status) {
    if (!status.ok()) {
        const bool gone = status.error_code() == ::grpc::StatusCode::UNAVAILABLE ||
                          status.error_code() == ::grpc::StatusCode::CANCELLED;
        throw Error(gone ? DYNO_PEER_GONE : DYNO_ERROR, std::string(call) + ": " + status.error_message() + " (code " +
                                                            std::to_string(status.error_code()) + ")");
    }
}

std::shared_ptr<::grpc::Channel> connect(const std::string &target) {
    ::grpc::ChannelArguments arguments;
    // A participant has connections of its own, also where several live in one process.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // The reader may not listen yet.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 10);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    return ::grpc::CreateCustomChannel(target, ::grpc::InsecureChannelCredentials(), arguments);
}

} // namespace

Settings::Settings(const dyno_context &context)
    : streams(Options(context).text("method", "stream") == "stream"),
      send_timeout_ms(Options(context).integer("send_timeout_ms", 10'000)) {}

std::string target_of(const dyno_endpoint &reader) {
    const std::string address = reader.address, port = std::to_string(reader.port);
    return address.find(':') == std::string::npos ? "ipv4:" + address + ":" + port
                                                  : "ipv6:[" + address + "]:" + port;
}

// It outlives its link where the library is not done with it.
struct Link::Question {
    ::grpc::ClientContext context;
    Name name;
    Nothing nothing;
    std::atomic<bool> is_over{false}, is_answered{false};
};

struct Link::Request {
    ::grpc::ClientContext context;
    Message response;
};

Link::Link(const std::string &target, std::string channel)
    : channel_(std::move(channel)), stub_(Reader::NewStub(connect(target))) {}

Link::~Link() {
    if (question_) {
        question_->context.TryCancel();
    }
    if (writer_) {
        // What the reader has not read is not waited for.
        context_->TryCancel();
        writer_->Finish();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    for (Request *request : requests_) {
        request->context.TryCancel();
    }
    answered_.wait(lock, [&] { return requests_.empty(); });
}

bool Link::is_met() {
    if (is_met_) {
        return true;
    }
    if (question_ && question_->is_over.load()) {
        is_met_ = question_->is_answered.load();
        question_.reset();
        return is_met_;
    }
    if (!question_) {
        question_ = std::make_shared<Question>();
        question_->name.set_channel(channel_);
        question_->context.set_wait_for_ready(true);
        question_->context.set_deadline(system_clock::now() + MEET);
        const auto done = [question = question_](const ::grpc::Status &status) {
            question->is_answered.store(status.ok());
            question->is_over.store(true);
        };
        stub_->async()->Meet(&question_->context, &question_->name, &question_->nothing, done);
    }
    return false;
}

void Link::stream(const Message &message) {
    if (!writer_) {
        context_ = std::make_unique<::grpc::ClientContext>();
        writer_ = stub_->Stream(context_.get(), &end_);
    }
    if (!writer_->Write(message)) {
        throw Error(DYNO_PEER_GONE, "ClientWriter::Write: the stream to the reader has ended");
    }
}

void Link::send(const Message &message, long long timeout_ms) {
    ::grpc::ClientContext context;
    context.set_deadline(system_clock::now() + milliseconds(timeout_ms));
    Message nothing;
    checked("Reader::Send", stub_->Send(&context, message, &nothing));
}

void Link::request(const Message &message, std::function<void(const Message &)> answered) {
    auto *const request = new Request;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        requests_.insert(request);
    }
    // What fails has no response: Dyno misses it.
    const auto done = [this, request, answered = std::move(answered)](const ::grpc::Status &status) {
        if (status.ok()) {
            answered(request->response);
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        requests_.erase(request);
        delete request;
        answered_.notify_all();
    };
    stub_->async()->Send(&request->context, &message, &request->response, done);
}

Service::Service(const dyno_endpoint &own, std::string channel, std::shared_ptr<Joint> joint, bool answers, Sink sink)
    : channel_(std::move(channel)), joint_(std::move(joint)), answers_(answers), sink_(sink) {
    const std::string address = own.address;
    const std::string host = address.find(':') == std::string::npos ? address : "[" + address + "]";
    int port = 0;
    ::grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(-1);
    builder.AddListeningPort(host + ":" + std::to_string(own.port), ::grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (!server_ || port != own.port) {
        throw Error(DYNO_ERROR, "grpc::ServerBuilder::BuildAndStart: cannot listen at " + host + " port " +
                                    std::to_string(own.port));
    }
}

Service::~Service() {
    {
        const std::lock_guard<std::mutex> lock(joint_->mutex);
        joint_->is_over = true;
        joint_->changed.notify_all();
    }
    // Calls under way are cancelled, and waited for.
    server_->Shutdown(system_clock::now());
    server_->Wait();
}

::grpc::Status Service::Meet(::grpc::ServerContext *, const Name *name, Nothing *) {
    if (name->channel() != channel_) {
        return {::grpc::StatusCode::NOT_FOUND, "here is " + channel_ + ", not " + name->channel()};
    }
    joint_->is_met.store(true);
    return ::grpc::Status::OK;
}

::grpc::Status Service::Send(::grpc::ServerContext *, const Message *message, Message *response) {
    const std::lock_guard<std::mutex> one(one_at_a_time_);
    if (answers_) {
        const std::lock_guard<std::mutex> lock(joint_->mutex);
        joint_->is_asked = true;
        joint_->response = response;
    }
    sink_.on_message(sink_.user, message->data().data(), message->data().size());
    if (answers_) {
        std::unique_lock<std::mutex> lock(joint_->mutex);
        joint_->changed.wait(lock, [&] { return !joint_->is_asked || joint_->is_over; });
        joint_->is_asked = false;
    }
    return ::grpc::Status::OK;
}

::grpc::Status Service::Stream(::grpc::ServerContext *, ::grpc::ServerReader<Message> *messages, Nothing *) {
    Message message;
    while (messages->Read(&message)) {
        sink_.on_message(sink_.user, message.data().data(), message.data().size());
    }
    return ::grpc::Status::OK;
}

} // namespace dyno::grpc
