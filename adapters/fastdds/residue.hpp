// What Fast DDS leaves in /dev/shm, and claims for it: its names carry neither the session's nor the
// channel's name, so that all of it is claimed.
#ifndef DYNO_FASTDDS_RESIDUE_HPP
#define DYNO_FASTDDS_RESIDUE_HPP

#include "dyno_adapter.h"

#include <cstdint>
#include <set>
#include <string>

// Claims the file `name` in /dev/shm.
void claim_shared(const dyno_context &context, const std::string &name);

// Claims the files of a port of the shared-memory transport, before it is opened: its segment, its
// lock and its mutex. Several participants listen at a `shared` one.
void claim_port(const dyno_context &context, uint32_t port, bool shared);

// The segments of participants of this process by their file names: those whose lock it holds. The
// library draws the names at random, so that they can be claimed only after the participant is there.
std::set<std::string> own_segments();

// Claims the own segments that are not among `before`.
void claim_segments(const dyno_context &context, const std::set<std::string> &before);

#endif
