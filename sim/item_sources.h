#pragma once

// Where what a rank sends comes from: for each send of its schedule, the transfers that brought it.
// That is what its item receives; where it waits for another lane (a tree's root between up and
// down), what that lane's items received for the same elements; and where its item receives
// nothing, what the items before it received for them.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/schedule.h"

namespace gradhaul {

class ItemSources {
 public:
  // `transfer(item, i)`: the number of the transfer that is the i-th receive of the item, or -1;
  // asked once for each receive with elements, lanes and their items in order.
  ItemSources(const Schedule& chunks, int channel, Rank rank,
              const std::function<std::int32_t(const Item&, int)>& transfer);

  // Of a send of item `index` of the lane.
  std::vector<std::int32_t> of(int lane, std::int64_t index, const ItemSend& send) const;

 private:
  struct Place {
    Span span;
    std::vector<std::int32_t> received;
    std::optional<Dependency> after;
  };
  void add_last(int lane, std::int64_t from, const Span& span,
                std::vector<std::int32_t>& sources) const;

  std::vector<std::vector<Place>> lanes_;
};

}  // namespace gradhaul
