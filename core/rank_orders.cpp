#include "core/rank_orders.h"

#include "core/assert.h"

namespace gradhaul {

RankOrders::RankOrders(const std::vector<std::vector<Rank>>& orders)
    : ranks_(orders.empty() ? 0 : static_cast<Rank>(orders.front().size())),
      channels_(static_cast<int>(orders.size())) {
  GRADHAUL_ASSERT(ranks_ >= 2, "a collective joins at least two ranks");
  positions_.resize(orders.size() * static_cast<std::size_t>(ranks_), -1);
  for (int channel = 0; channel < channels_; ++channel) {
    const std::vector<Rank>& order = orders[static_cast<std::size_t>(channel)];
    GRADHAUL_ASSERT(order.size() == static_cast<std::size_t>(ranks_), "an order holds every rank");
    for (std::size_t p = 0; p < order.size(); ++p) {
      GRADHAUL_ASSERT(order[p] >= 0 && order[p] < ranks_, "an order holds ranks only");
      int& position = positions_[index(channel, order[p])];
      GRADHAUL_ASSERT(position < 0, "an order holds each rank once");
      position = static_cast<int>(p);
      ranks_at_.push_back(order[p]);
    }
  }
}

std::vector<std::vector<int>> node_orders(const std::vector<std::vector<Rank>>& rings,
                                          int ranks_per_node) {
  std::vector<std::vector<int>> orders;
  for (const std::vector<Rank>& ring : rings) {
    std::vector<int>& order = orders.emplace_back();
    std::vector<bool> met(ring.size(), false);
    for (const Rank rank : ring) {
      const int node = rank / ranks_per_node;
      if (met[static_cast<std::size_t>(node)]) continue;
      met[static_cast<std::size_t>(node)] = true;
      order.push_back(node);
    }
  }
  return orders;
}

}  // namespace gradhaul
