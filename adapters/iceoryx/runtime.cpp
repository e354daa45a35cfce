#include "runtime.hpp"

#include "iceoryx_hoofs/error_handling/error_handling.hpp"
#include "iceoryx_hoofs/internal/relocatable_pointer/base_relative_pointer.hpp"
#include "iceoryx_hoofs/log/logmanager.hpp"
#include "iceoryx_posh/iceoryx_posh_types.hpp"
#include "iceoryx_posh/internal/runtime/posh_runtime_impl.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <future>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using dyno::Error;

namespace {

// Where the library keeps the sockets and locks of its processes: its own constant is not public.
const char *const DIRECTORY = "/tmp/";

// How long the library may take to let something go.
constexpr std::chrono::seconds PATIENCE{3};

// Some errors are answers: the caller is told of them in another way.
bool is_answer(iox::Error error) {
    switch (error) {
    case iox::Error::kMEPOO__MEMPOOL_GETCHUNK_POOL_IS_RUNNING_OUT_OF_CHUNKS:
    case iox::Error::kMEPOO__MEMPOOL_GETCHUNK_CHUNK_IS_TOO_LARGE:
    // A signal that ends a blocking take. The library repeats the system call five times and then
    // takes it for damage, which would end the process.
    case iox::Error::kPOPO__CONDITION_LISTENER_SEMAPHORE_CORRUPTED_IN_TIMED_WAIT:
        return true;
    default:
        return false;
    }
}

// For the rest of the process: the library keeps one handler.
void handle_errors() {
    static const auto handler = iox::ErrorHandler::setTemporaryErrorHandler(
        [](const iox::Error error, const std::function<void()> &, const iox::ErrorLevel level) {
            if (is_answer(error)) {
                return;
            }
            std::fprintf(stderr, "iceoryx reports %s\n", iox::ErrorHandler::toString(error));
            // The library does not expect to go on after these.
            if (level == iox::ErrorLevel::FATAL) {
                std::abort();
            }
        });
    // Standard output is not ours, and what matters comes as an error.
    iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kError,
                                                             iox::log::LogLevelOutput::kHideLogLevel);
}

// The library itself would wait for RouDi and then end the process.
void ask_for_roudi() {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s%s", DIRECTORY, iox::roudi::IPC_CHANNEL_ROUDI_NAME);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        throw Error(DYNO_ERROR, std::string("socket failed: ") + std::strerror(errno));
    }
    const int code = connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address);
    const int reason = errno;
    close(fd);
    if (code != 0) {
        throw Error(DYNO_ERROR, std::string("RouDi does not answer at ") + address.sun_path + ": " +
                                    std::strerror(reason) +
                                    "; iceoryx needs its daemon: let the stack file start iox-roudi, as stacks/iceoryx.toml does");
    }
}

std::mutex mutex;
std::weak_ptr<Runtime> shared;

} // namespace

// The library's runtime cannot be ended before the process; one made by a factory of ours can. The
// library's own tests do the same.
struct Runtime::Registered : iox::runtime::PoshRuntimeImpl {
    explicit Registered(const iox::RuntimeName_t &name)
        : PoshRuntimeImpl(iox::cxx::make_optional<const iox::RuntimeName_t *>(&name)) {
        current = this;
        setRuntimeFactory([](iox::cxx::optional<const iox::RuntimeName_t *>) -> PoshRuntime & { return *current; });
    }
    static Registered *current;
};

Runtime::Registered *Runtime::Registered::current = nullptr;

Runtime::Runtime(const std::string &name)
    : registered_(std::make_unique<Registered>(iox::RuntimeName_t(iox::cxx::TruncateToCapacity, name))) {}

bool ends(std::function<void()> end) {
    auto done = std::make_shared<std::promise<void>>();
    std::future<void> returned = done->get_future();
    std::thread([done, end = std::move(end)] {
        end();
        done->set_value();
    }).detach();
    return returned.wait_for(PATIENCE) == std::future_status::ready;
}

// The library takes leave of RouDi and waits for an answer. A RouDi that itself waits for a lock gives
// none.
Runtime::~Runtime() {
    const std::lock_guard<std::mutex> lock(mutex);
    Registered *registered = registered_.release();
    if (!ends([registered] { delete registered; })) {
        std::fprintf(stderr, "iceoryx: RouDi does not answer, the process's runtime is left open\n");
    }
}

void Runtime::abandon() {
    const std::lock_guard<std::mutex> lock(mutex);
    shared.reset();
}

std::shared_ptr<Runtime> Runtime::get(const dyno_context &context) {
    const std::lock_guard<std::mutex> lock(mutex);
    // Claimed by each node: each may have a scratch directory of its own.
    static unsigned number = 0;
    static std::string name;
    std::shared_ptr<Runtime> runtime = shared.lock();
    if (!runtime) {
        ask_for_roudi();
        name = std::string(context.session) + "-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    }
    for (const char *suffix : {"", ".lock"}) {
        const std::string file = DIRECTORY + name + suffix;
        if (context.claim(&context, "file", file.c_str()) != DYNO_OK) {
            throw Error(DYNO_ERROR, "cannot claim " + file);
        }
    }
    if (!runtime) {
        handle_errors();
        // Of mappings that have ended; those of the new runtime may lie elsewhere.
        iox::rp::BaseRelativePointer::unregisterAll();
        runtime.reset(new Runtime(name));
        shared = runtime;
    }
    return runtime;
}

Settings::Settings(const dyno::Options &options)
    : depth(static_cast<uint64_t>(options.integer("queue_depth", 16))),
      history(static_cast<uint64_t>(options.integer("history", 0))), block(options.text("policy", "block") == "block") {
    if (depth < 1 || depth > MOST_DEPTH) {
        throw Error(DYNO_BAD_OPTION, "`queue_depth` is from 1 to " + std::to_string(MOST_DEPTH));
    }
    if (history > MOST_HISTORY || history > depth) {
        throw Error(DYNO_BAD_OPTION, "`history` is at most " + std::to_string(MOST_HISTORY) + " and at most `queue_depth`");
    }
}

iox::capro::ServiceDescription service_of(const dyno_channel &channel) {
    const iox::capro::IdString_t name(iox::cxx::TruncateToCapacity, channel.name);
    return {"dyno", name, "messages"};
}
