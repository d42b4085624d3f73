#pragma once

// Equal-cost multipath: which of several equal links a switch sends a packet out by. A hash over
// the addresses and the UDP source port, so that a queue pair stays on its way, and different queue
// pairs of the same two NICs may take different ones.
//
// Nobody says by which hash a real switch does it; this one mixes well. How many flows then share a
// link follows the odds of independent draws: n flows miss each other on m links with probability
// m! / ((m - n)! m^n).

#include <cstdint>

#include "core/connection.h"

namespace gradhaul {

// What a switch sees of a packet.
struct FlowAddress {
  int source_node = 0;
  int source_nic = 0;
  int destination_node = 0;
  int destination_nic = 0;
  std::uint16_t udp_source_port = 0;
};

// The UDP source port of a queue pair: 0xC000 to 0xFFFF, folded from a 20-bit flow label
// [rdma-core: rdma_flow_label_to_udp_sport; IBTA annex A17]. The label is drawn by (seed,
// connection, queue pair), since the numbers that NICs give their queue pairs are not known.
// `answers`: the other end's, by which acknowledgements come back.
std::uint16_t udp_source_port(std::uint64_t seed, const ConnectionKey& connection, bool credit,
                              int queue_pair, bool answers);

// Which of `links` equal links, at least 1, the switch takes. `where` tells switches apart.
int ecmp_choice(const FlowAddress& address, std::uint64_t where, int links);

}  // namespace gradhaul
