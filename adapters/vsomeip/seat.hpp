// Which application of the process a participant uses.
//
// A program on an ECU is one vsomeip application, which offers and requests many services. So are the participants
// of one process here: they share an application, its dispatcher, its connections to the routing manager and its
// entries in service discovery. Only two that have ends of the same channel do not: messages between them would
// not leave the application, and of several receivers it would subscribe once. The second one's end goes to the
// next application of the process, so that what is sent between two threads goes the same way as between processes.
// Participants that have CPUs of their own do not share one either: its threads run where it was started.
#ifndef DYNO_VSOMEIP_SEAT_HPP
#define DYNO_VSOMEIP_SEAT_HPP

#include "application.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace dyno_vsomeip {

// How many participants share an application.
using Crowd = std::atomic<unsigned>;

// A participant's place at an application.
class Seat {
  public:
    // At the first application of this process, on the calling thread's CPUs, at which no other participant of
    // `channel` sits; started if there is none.
    Seat(const Settings &settings, const dyno_channel &channel);
    // The last one to leave stops the application.
    ~Seat();
    Seat(const Seat &) = delete;
    Seat &operator=(const Seat &) = delete;

    // Whether an end of `channel` may be made here: no other participant of it is at this application.
    bool suits(const dyno_channel &channel) const;
    const std::shared_ptr<vsomeip::application> &application() const;
    // Those whose messages pass the same dispatcher, this one among them.
    const std::shared_ptr<const Crowd> &crowd() const;

  private:
    struct Shared;
    struct Table;
    static Table &table();
    static std::shared_ptr<Shared> start(const Settings &settings);

    const std::string common_;
    const uint16_t participant_;
    std::shared_ptr<Shared> shared_;
};

} // namespace dyno_vsomeip
#endif
