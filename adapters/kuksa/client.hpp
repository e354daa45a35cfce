// A participant's connection to the databroker, and what runs over it.
#ifndef DYNO_KUKSA_CLIENT_HPP
#define DYNO_KUKSA_CLIENT_HPP

#include "dyno_adapter.hpp"
#include "kuksa/val/v2/val.grpc.pb.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace dyno::kuksa {

namespace v2 = ::kuksa::val::v2;

// How long the broker may take to answer what is asked while nothing is measured.
constexpr std::chrono::milliseconds PATIENCE{10'000};

// What a call came to, as text.
std::string said(const ::grpc::Status &status);
// DYNO_PEER_GONE where nobody is there to answer it.
dyno_status kind(const ::grpc::Status &status);

// Given the text of each value.
using Handler = std::function<void(const std::string &)>;

// Where values come from.
struct Values {
    virtual ~Values() = default;
    // Throws where it has ended.
    virtual void check() = 0;
};

class Client {
  public:
    explicit Client(const dyno_context &context);
    ~Client();
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;

    v2::VAL::Stub &stub() { return *stub_; }
    // Gives the token to a call that is about to begin, if the stack has one.
    void authorize(::grpc::ClientContext &call) const;
    // The broker's number of a signal. Throws where it has none of this path.
    int32_t id_of(const std::string &path);
    // Publishes a short text of the adapter's own, without waiting for the answer.
    void tell(int32_t id, const std::string &text);
    uint32_t queue_depth() const { return queue_depth_; }
    bool streams() const { return streams_; }
    long long send_timeout_ms() const { return send_timeout_ms_; }
    // Where values are subscribed to over VISS; 0: they are not.
    unsigned short viss_port() const { return viss_port_; }
    const std::string &address() const { return address_; }

  private:
    struct Telling;

    // Throws where a call was refused for want of a token, or for the one that it had.
    void check_token(const char *what, const ::grpc::Status &status) const;

    const std::string token_;
    const uint32_t queue_depth_;
    const bool streams_;
    const long long send_timeout_ms_;
    const unsigned short viss_port_;
    const std::string address_;
    const std::string place_;
    std::unique_ptr<v2::VAL::Stub> stub_;
    // Texts that are not answered.
    std::mutex mutex_;
    std::condition_variable told_;
    int tellings_ = 0;
};

// A provider's stream to the broker, which has taken its claim.
struct ProviderStream {
    // Waits until the broker has noticed that whoever had the claim before is gone.
    ProviderStream(Client &client, const v2::OpenProviderStreamRequest &claim, int32_t id);

    std::unique_ptr<::grpc::ClientContext> context;
    std::unique_ptr<::grpc::ClientReaderWriter<v2::OpenProviderStreamRequest, v2::OpenProviderStreamResponse>> stream;
};

// A provider of one signal: a stream to the broker, and a thread that reads what the broker says of it.
class Provider {
  public:
    Provider(Client &client, int32_t id);
    ~Provider();
    Provider(const Provider &) = delete;
    Provider &operator=(const Provider &) = delete;

    // The text of the next value, to be written before `publish`.
    std::string &text();
    // Writes to the stream, which waits for room; with `publish = "unary"` waits for the broker's answer.
    void publish();

  private:
    void listen();
    void check();

    Client &client_;
    const int32_t id_;
    v2::PublishValueRequest value_;
    v2::OpenProviderStreamRequest request_;
    std::unique_ptr<ProviderStream> stream_;
    std::thread listener_;
    std::atomic<bool> is_refused_{false};
    std::string refusal_;
};

// A subscription of one signal, whose values a thread of the library's gives to a handler. It is made when the broker
// has said that it stands, with the value from before, which is not shown; when it is gone, the handler is not called any more.
class Subscriber final : public Values, private ::grpc::ClientReadReactor<v2::SubscribeByIdResponse> {
  public:
    // Databroker 0.7.0 breaks off a subscription of a signal whose provider has just gone (its task fails to tell the provider),
    // until it has noticed that: it is asked again.
    static std::unique_ptr<Subscriber> of(Client &client, int32_t id, uint32_t buffer_size, const Handler &handler);
    ~Subscriber() override;
    Subscriber(const Subscriber &) = delete;
    Subscriber &operator=(const Subscriber &) = delete;

    void check() override;

  private:
    Subscriber(Client &client, int32_t id, uint32_t buffer_size, Handler handler);
    void OnReadDone(bool ok) override;
    void OnDone(const ::grpc::Status &status) override;

    const int32_t id_;
    const Handler handler_;
    ::grpc::ClientContext context_;
    v2::SubscribeByIdRequest request_;
    v2::SubscribeByIdResponse response_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stands_ = false, is_over_ = false;
    ::grpc::Status status_;
};

} // namespace dyno::kuksa
#endif
