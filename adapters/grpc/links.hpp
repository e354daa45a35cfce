// The two sides of a connection: a writer's link to one reader, and a reader's service.
#ifndef DYNO_GRPC_LINKS_HPP
#define DYNO_GRPC_LINKS_HPP

#include "channel.grpc.pb.h"
#include "dyno_adapter.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace dyno::grpc {

// What the stack asks for.
struct Settings {
    explicit Settings(const dyno_context &context);

    bool streams;
    long long send_timeout_ms;
};

// Address and port as gRPC writes them.
std::string target_of(const dyno_endpoint &reader);

// What a message, or a response, is given to.
struct Sink {
    dyno_on_message on_message = nullptr;
    void *user = nullptr;
};

// A writer's connection to one reader.
class Link {
  public:
    Link(const std::string &target, std::string channel);
    ~Link();
    Link(const Link &) = delete;
    Link &operator=(const Link &) = delete;

    // Whether the reader has answered; asks it where nobody did.
    bool is_met();
    // Writes to the stream, which waits for room.
    void stream(const Message &message);
    // Sends and waits for the answer.
    void send(const Message &message, long long timeout_ms);
    // Sends; the response is given to `answered` on a thread of the library's.
    void request(const Message &message, std::function<void(const Message &)> answered);

  private:
    struct Question;
    struct Request;

    const std::string channel_;
    const std::unique_ptr<Reader::Stub> stub_;
    std::shared_ptr<Question> question_;
    bool is_met_ = false;
    // The stream, once there was a message for it.
    std::unique_ptr<::grpc::ClientContext> context_;
    Nothing end_;
    std::unique_ptr<::grpc::ClientWriter<Message>> writer_;
    // Requests that are not answered.
    std::mutex mutex_;
    std::condition_variable answered_;
    std::set<Request *> requests_;
};

// Where the two ends of one participant of a call meet; a channel of messages has one of its own.
struct Joint {
    std::atomic<bool> is_met{false};

    // The caller's: what takes the responses.
    std::mutex mutex;
    Sink responses;

    // The provider's: the request that waits for its response.
    std::condition_variable changed;
    bool is_asked = false, is_over = false;
    Message *response = nullptr;
};

// A reader: a server of its own that its writer connects to.
class Service final : public Reader::Service {
  public:
    Service(const dyno_endpoint &own, std::string channel, std::shared_ptr<Joint> joint, bool answers, Sink sink);
    ~Service() override;

    ::grpc::Status Meet(::grpc::ServerContext *, const Name *name, Nothing *) override;
    ::grpc::Status Send(::grpc::ServerContext *, const Message *message, Message *response) override;
    ::grpc::Status Stream(::grpc::ServerContext *, ::grpc::ServerReader<Message> *messages, Nothing *) override;

  private:
    const std::string channel_;
    const std::shared_ptr<Joint> joint_;
    const bool answers_;
    const Sink sink_;
    std::mutex one_at_a_time_;
    std::unique_ptr<::grpc::Server> server_;
};

} // namespace dyno::grpc
#endif
