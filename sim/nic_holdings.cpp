#include "sim/nic_holdings.h"

#include <algorithm>

#include "core/protocol.h"

namespace gradhaul {

NicHoldings::NicHoldings(const Cluster& cluster, const Communication& communication)
    : rdma_(!cluster.network.tcp),
      set_up_(cluster.node.nic.pcie.has_value()),
      each_(communication.queue_pairs + (cluster.network.kind == NetworkKind::kIdeal ? 0 : 1)),
      queue_pair_setup_(cluster.node.nic.queue_pair_setup),
      registers_message_(communication.registering != Registering::kPerTransfer),
      registration_(communication.registration),
      slots_(with_flags(communication.protocol, communication.slot_size) * communication.slots),
      queue_pairs_(static_cast<std::size_t>(cluster.nodes * cluster.node.nic_count)),
      made_(static_cast<std::size_t>(cluster.ranks())),
      received_(static_cast<std::size_t>(cluster.ranks())),
      registers_(static_cast<std::size_t>(cluster.ranks())) {}

void NicHoldings::add(int source_nic, int destination_nic, Rank source, Rank destination) {
  if (!rdma_) return;
  queue_pairs_[static_cast<std::size_t>(source_nic)] += each_;
  queue_pairs_[static_cast<std::size_t>(destination_nic)] += each_;
  made_[static_cast<std::size_t>(source)] += each_;
  made_[static_cast<std::size_t>(destination)] += each_;
  ++received_[static_cast<std::size_t>(destination)];
  registers_[static_cast<std::size_t>(source)] = true;
  registers_[static_cast<std::size_t>(destination)] = true;
}

HeldResources NicHoldings::held(int channels, Bytes size) const {
  HeldResources held;
  held.gpu_sms = channels;
  for (const std::int64_t pairs : queue_pairs_) {
    held.queue_pairs += pairs;
    held.queue_pairs_per_nic = std::max(held.queue_pairs_per_nic, pairs);
  }
  for (std::size_t rank = 0; rank < received_.size(); ++rank) {
    const Bytes message = registers_[rank] ? size : Bytes{};
    held.registered = std::max(held.registered, message + slots_ * received_[rank]);
  }
  return held;
}

SetupTime NicHoldings::setup(Bytes size) const {
  SetupTime longest;
  if (!set_up_) return longest;
  for (std::size_t rank = 0; rank < made_.size(); ++rank) {
    if (!registers_[rank]) continue;
    SetupTime setup;
    setup.queue_pairs = queue_pair_setup_ * made_[rank];
    if (registers_message_) setup.registration = registration_time(registration_, size);
    if (received_[rank] > 0) {
      setup.registration =
          setup.registration + registration_time(registration_, slots_ * received_[rank]);
    }
    if (setup.total() > longest.total()) longest = setup;
  }
  return longest;
}

}  // namespace gradhaul
