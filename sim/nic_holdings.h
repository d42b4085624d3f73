#pragma once

// What the connections of a collective hold of NICs: queue pairs, and receive slots in registered
// memory. Counted as they are wired (sim/wiring.h): of each connection that goes by NICs,
// `communication.queue_pairs` for its data and, but on the ideal network, one for its credits.
// TCP's are sockets, which neither have queue pairs nor registered memory: they hold nothing.
//
// And what a rank has to do for that before the first collective: it makes its end of each queue
// pair, one after the other, and registers its message and, all together, the slots that it
// receives into (as backends/verbs does).

#include <cstdint>
#include <vector>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/quantities.h"
#include "core/result.h"

namespace gradhaul {

class NicHoldings {
 public:
  NicHoldings(const Cluster& cluster, const Communication& communication);

  // NICs among all of the cluster.
  void add(int source_nic, int destination_nic, Rank source, Rank destination);
  // Of a message of `size` on each rank.
  HeldResources held(int channels, Bytes size) const;
  // Of the rank that takes longest. On the node `ideal` nothing has to be set up.
  SetupTime setup(Bytes size) const;

 private:
  bool rdma_;
  bool set_up_;
  int each_;  // queue pairs of a connection
  Duration queue_pair_setup_;
  bool registers_message_;  // once, whoever asks for it first
  RegistrationCosts registration_;
  Bytes slots_;
  std::vector<std::int64_t> queue_pairs_;  // by NIC
  std::vector<std::int64_t> made_;         // queue pairs, by rank
  std::vector<std::int64_t> received_;     // connections, by rank
  std::vector<bool> registers_;            // by rank: its message goes by a NIC
};

}  // namespace gradhaul
