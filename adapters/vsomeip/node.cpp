#include "node.hpp"
#include "calls.hpp"
#include "ids.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace dyno_vsomeip {

namespace {

// vsomeip learns of its configuration file through this variable only.
const char CONFIGURATION[] = "VSOMEIP_CONFIGURATION";
// Guards the variable while applications read it.
std::mutex configuring;

void write(const std::string &path, const std::string &text) {
    std::ofstream file(path, std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
        throw dyno::Error(DYNO_ERROR,
                          "cannot write vsomeip's configuration " + path + ": " + std::strerror(errno));
    }
}

} // namespace

Node::Node(const dyno_context &context) : settings_(context) {
    write(settings_.file, settings_.json());
    try {
        start();
    } catch (...) {
        ::unlink(settings_.file.c_str());
        throw;
    }
}

void Node::start() {
    const auto runtime = vsomeip::runtime::get();
    const std::string name = settings_.application(settings_.participant);
    {
        const std::lock_guard<std::mutex> lock(configuring);
        ::setenv(CONFIGURATION, settings_.file.c_str(), 1);
        application_ = runtime->create_application(name);
        if (!application_ || application_->get_name() != name) {
            throw dyno::Error(DYNO_ERROR, "participant " + std::to_string(settings_.participant) +
                                              " is open already in this process");
        }
        if (!application_->init()) {
            runtime->remove_application(name);
            throw dyno::Error(DYNO_ERROR, "vsomeip cannot initialise application " + name +
                                              "; set the option `log` to a file's path to see why");
        }
    }
    if (application_->is_routing()) {
        routing_ = std::make_shared<Routing>();
        application_->register_state_handler([routing = routing_](vsomeip::state_type_e state) {
            const std::lock_guard<std::mutex> lock(routing->mutex);
            routing->started = routing->started || state == vsomeip::state_type_e::ST_REGISTERED;
            routing->changed.notify_all();
        });
    }
    // `start` runs the application and returns when it is stopped.
    thread_ = std::thread([application = application_] { application->start(); });
}

Node::~Node() {
    if (routing_) {
        // A routing manager that is stopped before it has started leaves its socket behind.
        std::unique_lock<std::mutex> lock(routing_->mutex);
        routing_->changed.wait_for(lock, std::chrono::seconds(5), [this] { return routing_->started; });
    }
    application_->clear_all_handler();
    application_->stop();
    thread_.join();
    // Otherwise the name stays taken until the last timer of the application has ended.
    vsomeip::runtime::get()->remove_application(application_->get_name());
    ::unlink(settings_.file.c_str());
}

vsomeip::service_t Node::service(const dyno_channel &channel) const {
    const std::string name = std::string("channel ") + channel.name;
    const unsigned number = FIRST_SERVICE + channel.id;
    if (settings_.between_hosts() ? channel.id >= REMOTE_CHANNELS : number > LAST_SERVICE) {
        throw dyno::Error(DYNO_UNSUPPORTED, name + " has number " + std::to_string(channel.id) +
                                                ": too many channels for this transport");
    }
    for (uint32_t i = 0; i < channel.reader_count; i++) {
        const std::string reader = channel.readers[i].address;
        if (reader != channel.writer_address && !settings_.between_hosts()) {
            throw dyno::Error(DYNO_BAD_OPTION, "option `transport`: `local` stays within one host, but " + name +
                                                   " leads from " + channel.writer_address + " to " + reader +
                                                   "; use `udp` or `tcp`");
        }
        if (reader == channel.writer_address && settings_.between_hosts()) {
            throw dyno::Error(DYNO_BAD_OPTION, "option `transport`: both ends of " + name + " are at " + reader +
                                                   ", where vsomeip uses Unix sockets whatever is asked for; place "
                                                   "them on different hosts, or use transport `local`");
        }
    }
    return static_cast<vsomeip::service_t>(number);
}

std::shared_ptr<Call> Node::call(const dyno_channel &channel) {
    const char *requests = channel.carries == DYNO_CARRIES_REQUESTS ? channel.name : channel.partner;
    if (!requests) {
        throw dyno::Error(DYNO_ERROR,
                          std::string("channel ") + channel.name + " carries responses but has no partner");
    }
    const std::lock_guard<std::mutex> lock(calls_mutex_);
    std::weak_ptr<Call> &known = calls_[requests];
    std::shared_ptr<Call> call = known.lock();
    if (!call) {
        call = std::make_shared<Call>();
        known = call;
    }
    return call;
}

} // namespace dyno_vsomeip
