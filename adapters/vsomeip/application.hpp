// A vsomeip application that runs: one that participants use, and the routing manager.
#ifndef DYNO_VSOMEIP_APPLICATION_HPP
#define DYNO_VSOMEIP_APPLICATION_HPP

#include "settings.hpp"

#include <vsomeip/vsomeip.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace dyno_vsomeip {

class Application {
  public:
    // Writes its configuration file and starts the library's threads.
    Application(const Settings &settings, const std::string &name);
    // Stops them and removes the file.
    ~Application();
    Application(const Application &) = delete;
    Application &operator=(const Application &) = delete;

    const std::shared_ptr<vsomeip::application> &shared() const { return application_; }

  private:
    // The configuration file, from before the application starts until it has ended.
    class File {
      public:
        File(const Settings &settings, const std::string &name);
        ~File();
        File(const File &) = delete;
        File &operator=(const File &) = delete;

        const std::string &path() const { return path_; }

      private:
        std::string path_;
    };
    // Whether the routing manager, where it is this application's, has started.
    struct Routing {
        std::mutex mutex;
        std::condition_variable changed;
        bool started = false;
    };
    File file_;
    std::shared_ptr<vsomeip::application> application_;
    std::shared_ptr<Routing> routing_;
    std::thread thread_;
};

// The routing manager that the first participant's process hosts is an application beside those of
// the participants: without it none of them can talk. It stays until the last participant of the
// trial in this process has left.
class RoutingStay {
  public:
    // `hosts`: this participant brings it along.
    RoutingStay(const Settings &settings, bool hosts);
    ~RoutingStay();
    RoutingStay(const RoutingStay &) = delete;
    RoutingStay &operator=(const RoutingStay &) = delete;

  private:
    std::string network_;
};

} // namespace dyno_vsomeip
#endif
