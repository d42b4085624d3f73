#pragma once

// One order of all ranks for each channel, and where in it each rank stands.

#include <vector>

#include "core/communication.h"

namespace gradhaul {

class RankOrders {
 public:
  // Each holds every rank once; there is at least one, of at least two ranks.
  explicit RankOrders(const std::vector<std::vector<Rank>>& orders);

  Rank ranks() const { return ranks_; }
  int channels() const { return channels_; }
  Rank at(int channel, int position) const { return ranks_at_[index(channel, position)]; }
  int position(int channel, Rank rank) const { return positions_[index(channel, rank)]; }

 private:
  std::size_t index(int channel, std::int32_t place) const {
    return static_cast<std::size_t>(channel) * static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(place);
  }

  Rank ranks_;
  int channels_;
  std::vector<Rank> ranks_at_;
  std::vector<int> positions_;
};

// The nodes in the order in which each ring first meets them; rank r is on node r / ranks_per_node.
std::vector<std::vector<int>> node_orders(const std::vector<std::vector<Rank>>& rings,
                                          int ranks_per_node);

}  // namespace gradhaul
