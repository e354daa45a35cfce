#include "actuation.hpp"

using std::chrono::milliseconds;
using std::chrono::system_clock;

namespace dyno::kuksa {

Actuator::Actuator(Client &client, int32_t id) : client_(client) { request_.mutable_signal_id()->set_id(id); }

void Actuator::actuate() {
    ::grpc::ClientContext call;
    call.set_deadline(system_clock::now() + milliseconds(client_.send_timeout_ms()));
    client_.authorize(call);
    v2::ActuateResponse response;
    const auto status = client_.stub().Actuate(&call, request_, &response);
    if (!status.ok()) {
        throw Error(kind(status), "Actuate: " + said(status));
    }
}

ActuatorProvider::ActuatorProvider(Client &client, int32_t id, Handler handler) : id_(id), handler_(std::move(handler)) {
    v2::OpenProviderStreamRequest claim;
    claim.mutable_provide_actuation_request()->add_actuator_identifiers()->set_id(id);
    stream_ = std::make_unique<ProviderStream>(client, claim, id);
    listener_ = std::thread(&ActuatorProvider::listen, this);
}

ActuatorProvider::~ActuatorProvider() {
    stream_->context->TryCancel();
    listener_.join();
}

void ActuatorProvider::listen() {
    v2::OpenProviderStreamResponse said;
    v2::OpenProviderStreamRequest accepted;
    auto &answer = *accepted.mutable_batch_actuate_stream_response();
    answer.mutable_signal_id()->set_id(id_);
    answer.mutable_error()->set_code(v2::ERROR_CODE_OK);
    bool stands = true;
    while (stream_->stream->Read(&said)) {
        for (const auto &target : said.batch_actuate_stream_request().actuate_requests()) {
            // The protocol wants each target accepted. One that cannot be, since the stream has ended, is not acted on: the
            // reads end with it too, and `check` says how.
            stands = stands && stream_->stream->Write(accepted);
            if (stands) {
                handler_(target.value().string());
            }
        }
    }
    status_ = stream_->stream->Finish();
    is_over_.store(true, std::memory_order_release);
}

void ActuatorProvider::check() {
    if (is_over_.load(std::memory_order_acquire)) {
        throw Error(kind(status_), "the databroker has ended the stream of an actuator's provider: " + said(status_));
    }
}

} // namespace dyno::kuksa
