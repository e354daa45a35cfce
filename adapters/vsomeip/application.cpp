#include "application.hpp"
#include "library.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <unistd.h>

namespace dyno_vsomeip {

namespace {

// vsomeip learns of its configuration file through this variable only.
const char CONFIGURATION[] = "VSOMEIP_CONFIGURATION";
// Guards the variable while applications read it.
std::mutex configuring;

// The participants of one trial in this process, and the routing manager if it is here.
struct Stays {
    unsigned participants = 0;
    std::unique_ptr<Application> routing;
};

std::mutex staying;

// By network. Never destroyed: the process may end while applications run.
std::map<std::string, Stays> &stays() {
    static auto &all = *new std::map<std::string, Stays>;
    return all;
}

} // namespace

Application::File::File(const Settings &settings, const std::string &name) : path_(settings.file(name)) {
    std::ofstream file(path_, std::ios::trunc);
    file << settings.json(name);
    file.close();
    if (!file) {
        throw dyno::Error(DYNO_ERROR,
                          "cannot write vsomeip's configuration " + path_ + ": " + std::strerror(errno));
    }
}

Application::File::~File() { ::unlink(path_.c_str()); }

Application::Application(const Settings &settings, const std::string &name) : file_(settings, name) {
    const auto runtime = vsomeip::runtime::get();
    {
        const std::lock_guard<std::mutex> lock(configuring);
        // They stay loaded, as in vsomeip itself.
        static const bool loaded = (load_parts(), true);
        static_cast<void>(loaded);
        ::setenv(CONFIGURATION, file_.path().c_str(), 1);
        application_ = runtime->create_application(name);
        if (!application_ || application_->get_name() != name) {
            throw dyno::Error(DYNO_ERROR, "application " + name + " is open already in this process");
        }
        if (!application_->init()) {
            runtime->remove_application(name);
            throw dyno::Error(DYNO_ERROR, "vsomeip cannot initialise application " + name +
                                              "; set the option `log` to a file's path to see why");
        }
    }
    if (application_->is_routing()) {
        // vsomeip 3.4.10 leaves this state uninitialised: with the wrong value in memory it ignores the
        // offers of other hosts.
        application_->set_routing_state(vsomeip::routing_state_e::RS_RUNNING);
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

Application::~Application() {
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
}

RoutingStay::RoutingStay(const Settings &settings, bool hosts) : network_(settings.network) {
    const std::lock_guard<std::mutex> lock(staying);
    Stays &here = stays()[network_];
    if (hosts && !here.routing) {
        try {
            here.routing = std::make_unique<Application>(settings, settings.routing_host());
        } catch (...) {
            if (here.participants == 0) {
                stays().erase(network_);
            }
            throw;
        }
    }
    here.participants++;
}

RoutingStay::~RoutingStay() {
    const std::lock_guard<std::mutex> lock(staying);
    const auto here = stays().find(network_);
    if (--here->second.participants == 0) {
        stays().erase(here);
    }
}

} // namespace dyno_vsomeip
