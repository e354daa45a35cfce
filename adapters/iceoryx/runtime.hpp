// The process's connection to RouDi, and the options that ends need of their node.
#ifndef DYNO_ICEORYX_RUNTIME_HPP
#define DYNO_ICEORYX_RUNTIME_HPP

#include "dyno_adapter.hpp"

#include "iceoryx_posh/capro/service_description.hpp"

#include <functional>
#include <memory>
#include <string>

// Bounds of the library, which its stack files can be held against.
constexpr long long MOST_DEPTH = 256;
constexpr long long MOST_HISTORY = 16;

// Registered with RouDi while somebody holds it: the library allows one per process.
class Runtime {
  public:
    // The process's runtime, which is made where there is none. Throws where RouDi does not answer.
    static std::shared_ptr<Runtime> get(const dyno_context &context);
    ~Runtime();
    // Somebody who holds it will never let go: who opens a node next gets another one.
    static void abandon();
    Runtime(const Runtime &) = delete;
    Runtime &operator=(const Runtime &) = delete;

  private:
    explicit Runtime(const std::string &name);
    struct Registered;
    std::unique_ptr<Registered> registered_;
};

// Runs `end`, which may wait without end: the locks of this library lie in shared memory, and a process
// that is killed while it holds one holds it for good. False where it has not returned in time; then
// it goes on waiting, and whatever it uses must stay.
bool ends(std::function<void()> end);

// What the stack file says.
struct Settings {
    explicit Settings(const dyno::Options &options);
    uint64_t depth;
    uint64_t history;
    // A full queue holds up the publisher; otherwise it loses its oldest message.
    bool block;
};

// The service of a channel.
iox::capro::ServiceDescription service_of(const dyno_channel &channel);

struct dyno_node {
    explicit dyno_node(const dyno_context &context) : settings(dyno::Options(context)), runtime(Runtime::get(context)) {}
    Settings settings;
    std::shared_ptr<Runtime> runtime;
};

#endif
