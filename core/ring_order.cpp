#include "core/ring_order.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace gradhaul {

RingOrders::RingOrders(const Node& node, int nodes, int gpus, bool balanced)
    : nodes_(nodes),
      gpus_(gpus),
      nics_(node.nic_count),
      nvlink_(node.nvlink.has_value()),
      distances_(node),
      rail_position_(static_cast<std::size_t>(node.nic_count), -1) {
  GRADHAUL_ASSERT(nodes >= 1 && gpus >= 1 && gpus <= node.gpu_count, "ranks have GPUs");
  GRADHAUL_ASSERT(nodes == 1 || nics_ >= 1, "nodes are joined by NICs");
  for (int nic = 0; nic < nics_; ++nic) nic_gpus_.push_back(distances_.nearest_gpus(nic, gpus));
  if (balanced && crosses_nodes() && gpus_ > 1) pair_rails();
}

// Neighbouring hops of a ring are `shift` apart in rails_, which is far enough to reach another GPU
// if no GPU has more than `shift` NICs, since those of one GPU lie side by side.
void RingOrders::pair_rails() {
  std::vector<int> rails;
  for (int nic = 0; nic < nics_; ++nic) {
    if (nic_gpus_[nic].size() == 1) rails.push_back(nic);
  }
  if (rails.empty()) return;
  std::stable_sort(rails.begin(), rails.end(),
                   [&](int a, int b) { return nic_gpus_[a].front() < nic_gpus_[b].front(); });
  int most_of_one_gpu = 0;
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    most_of_one_gpu = std::max(
        most_of_one_gpu, static_cast<int>(std::count_if(rails.begin(), rails.end(), [&](int nic) {
          return nic_gpus_[nic].front() == gpu;
        })));
  }
  const int count = static_cast<int>(rails.size());
  const std::string as_nccl = ", so their rings run as ring_order nccl does";
  if (count == 1) {
    notes_.push_back("ring_order balanced: NIC " + std::to_string(rails.front()) +
                     " of a node has no partner, so its rings run as ring_order nccl does");
  } else if (count / 2 < most_of_one_gpu) {
    notes_.push_back("ring_order balanced: " + std::to_string(most_of_one_gpu) + " of " +
                     std::to_string(count) + " NICs are nearest to one GPU and find no partners" +
                     as_nccl);
  } else if (nodes_ % 2 == 1 && count / 3 < most_of_one_gpu) {
    notes_.push_back("ring_order balanced: " + std::to_string(count) +
                     " rails do not close over an odd number of nodes (" + std::to_string(nodes_) +
                     ")" + as_nccl);
  } else {
    rails_ = rails;
    for (int position = 0; position < count; ++position) rail_position_[rails[position]] = position;
  }
}

std::vector<NodePassage> RingOrders::ring(int channel) const {
  if (!crosses_nodes()) return within_one_node();
  const int nic = channel % nics_;
  if (gpus_ == 1) return through_one_nic(nic, 0, 0);
  if (nic_gpus_[nic].size() > 1) return shared_nic_ring(nic, channel / nics_);
  if (paired(nic)) return through_partners(rail_position_[nic]);
  return hand_back_ring(nic);
}

std::vector<NodePassage> RingOrders::within_one_node() const {
  return {{.node = 0, .gpus = gpus_between(0, -1), .leaving_nic = -1}};
}

std::vector<NodePassage> RingOrders::through_one_nic(int nic, int entry, int exit) const {
  std::vector<NodePassage> passages;
  const std::vector<int> gpus = gpus_between(entry, exit);
  for (int node = 0; node < nodes_; ++node) passages.push_back({node, gpus, nic});
  return passages;
}

std::vector<NodePassage> RingOrders::shared_nic_ring(int nic, int round) const {
  const std::vector<int>& near = nic_gpus_[nic];
  const auto sharers_before = std::count(nic_gpus_.begin(), nic_gpus_.begin() + nic, near);
  const auto turn = static_cast<std::size_t>(sharers_before + round);
  return through_one_nic(nic, near[turn % near.size()], near[(turn + 1) % near.size()]);
}

std::vector<NodePassage> RingOrders::hand_back_ring(int nic) const {
  const int entry = nic_gpus_[nic].front();
  int exit = (entry + gpus_ - 1) % gpus_;
  if (!nvlink_) {
    // The NIC reads the last GPU's memory itself: one close to the NIC serves best.
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      if (gpu != entry && distances_.gpu_to_nic(gpu, nic) < distances_.gpu_to_nic(exit, nic)) {
        exit = gpu;
      }
    }
  }
  return through_one_nic(nic, entry, exit);
}

// The NIC of hop `hop`, from node `hop` to the next, for the forward ring of the NIC at `position`.
// The last hop, into node 0, is by that NIC itself.
int RingOrders::rail(int position, int hop) const {
  const int count = static_cast<int>(rails_.size());
  const bool odd_nodes = nodes_ % 2 == 1;
  const int step = odd_nodes ? count / 3 : count / 2;
  int shift = hop % 2 == 0 ? step : 0;
  if (odd_nodes && hop == nodes_ - 2) shift = 2 * step;
  if (odd_nodes && hop == nodes_ - 1) shift = 0;
  return rails_[(position + shift) % count];
}

std::vector<NodePassage> RingOrders::through_partners(int position) const {
  std::vector<NodePassage> passages;
  for (int node = 0; node < nodes_; ++node) {
    const int entering = rail(position, (node + nodes_ - 1) % nodes_);
    const int leaving = rail(position, node);
    passages.push_back(
        {node, gpus_between(nic_gpus_[entering].front(), nic_gpus_[leaving].front()), leaving});
  }
  return passages;
}

// All GPUs taking part, from `entry` to `exit` (-1: whichever comes last).
std::vector<int> RingOrders::gpus_between(int entry, int exit) const {
  std::vector<int> order = {entry};
  for (int step = 1; step < gpus_; ++step) {
    const int gpu = (entry + step) % gpus_;
    if (gpu != exit) order.push_back(gpu);
  }
  if (!nvlink_) bring_neighbours_together(order, exit);
  if (exit >= 0 && exit != entry) order.push_back(exit);
  return order;
}

// Each next GPU is the nearest to the one before, among those equally near the one farthest from
// the exit, so that the exit's own neighbours are kept for the end. NVLink makes all alike.
void RingOrders::bring_neighbours_together(std::vector<int>& order, int exit) const {
  const auto from_exit = [&](int gpu) {
    return exit < 0 ? PcieDistance::kNothing : distances_.gpu_to_gpu(gpu, exit);
  };
  for (auto next = order.begin() + 1; next < order.end(); ++next) {
    const int last = *(next - 1);
    const auto best = std::min_element(next, order.end(), [&](int left, int right) {
      return std::pair(distances_.gpu_to_gpu(last, left), from_exit(right)) <
             std::pair(distances_.gpu_to_gpu(last, right), from_exit(left));
    });
    std::rotate(next, best, best + 1);
  }
}

}  // namespace gradhaul
