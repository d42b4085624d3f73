#pragma once

// How it is to be communicated: the knobs of a collective library.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/gpudirect.h"
#include "core/memory_registration.h"
#include "core/quantities.h"
#include "core/tcp_settings.h"
#include "core/thread_placement.h"

namespace gradhaul {

using Rank = std::int32_t;

// core/collective_algorithms.h says which collective has which.
enum class Algorithm : std::uint8_t {
  kRing,
  kTree,
  kDoubleBinaryTree,
  kHierarchical,
  kHalvingDoubling,
  kRecursiveDoubling,
  kParameterServer,
  kPairwise,
  kListed,  // Communication::listed
};
// Simple: data, then a flag that says how far it goes. LL and LL128: lines that carry flags of
// their own (8 B with 4 B of data; 128 B with 120 B).
enum class Protocol : std::uint8_t { kSimple, kLl, kLl128 };
enum class RingOrder : std::uint8_t { kBalanced, kNccl, kListed };

// Whether a receiver's thread has its NIC read back from the GPU's memory before it tells the
// kernel of data (core/arrival_flush.h). kAuto: as NCCL, on GPUs before Hopper.
enum class Flush : std::uint8_t { kOff, kAuto, kOn };

struct ListedProgram;  // core/listed_program.h

struct Communication {
  std::string profile = "gradhaul";
  // kRing is also what stands for the one that a collective has anyway (running_algorithm()).
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  // `auto`: for each size what takes least by prediction, in place of the fields above.
  bool choose_algorithm = false;
  bool choose_protocol = false;
  std::optional<int> channels;  // nothing: the rule of place() in core/placement.h
  // Receive slots of a connection: the credits its sender may use. 0: NCCL's profile takes those of
  // the protocol that it chooses (core/nccl_profile.h).
  int slots = 8;
  Bytes slot_size{512 * 1024};  // the slice that travels, is reduced and travels on
  bool own_slot_size = false;   // asked for; else the protocol's
  int queue_pairs = 1;          // per connection
  // Each write in parts, one for each queue pair (core/write_parts.h); else whole writes take turns
  // over them.
  bool splits_over_queue_pairs = false;
  // How a queue pair waits for an acknowledgement: 4.096 us * 2^timeout, 0 for ever; and how often
  // in a row, without any progress, it tries again [IBTA vol. 1, 9.7.5 and 9.7.6].
  int timeout = 20;
  int retry = 7;
  // How many receives a queue pair has posted, nothing: one for each slot; the code of how long a
  // sender waits that finds none (core/receive_queue.h), and how often in a row it does, 7 for
  // ever.
  std::optional<int> receives = {};
  int rnr_timer = 12;
  int rnr_retry = 7;
  // The IP header's octet, DSCP * 4, by which Ethernet chooses a priority; nothing: the lossless
  // one.
  std::optional<int> traffic_class = {};
  GpuDirect gpudirect = GpuDirect::kOn;
  Flush flush = Flush::kOff;
  std::optional<TcpSettings> tcp = {};  // nothing: RDMA
  ThreadPlacement threads = {};
  // Each rank has a communication thread on the host, which posts what goes by a NIC and handles
  // its completions, one after the other, and registers memory.
  Registering registering = Registering::kOnce;
  RegistrationCosts registration = kGpuRegistration;
  // Whether it sleeps when it has nothing to do, and what then passes from an interrupt until it
  // runs; else it polls.
  bool sleeps = false;
  Duration wake_up;
  // What each post and each completion takes it beside what the NIC's model says.
  Duration thread_step;
  // Messages of up to so many bytes are posted as one work request that is written to the NIC with
  // the doorbell (BlueFlame), which then need not fetch it.
  Bytes blue_flame;
  RingOrder ring_order = RingOrder::kBalanced;
  // kListed: one ring for all channels, or one for each channel.
  std::vector<std::vector<Rank>> listed_rings;
  std::shared_ptr<const ListedProgram> listed;  // of kListed
  // Of a ring all_reduce: the first step alone (core/ring_step_schedule.h). No key of a scenario:
  // ladders ask for it.
  bool one_step = false;
};

}  // namespace gradhaul
