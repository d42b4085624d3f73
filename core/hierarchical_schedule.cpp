#include "core/hierarchical_schedule.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

enum Lane : int { kScatter = 0, kReduceLocally = 1, kAround = 2, kGather = 3 };
// Within a node the way there and the way back are connections of their own.
constexpr int kThere = 0;
constexpr int kBack = 1;

int batches(int peers) { return (peers + kMaxPeersOfItem - 1) / kMaxPeersOfItem; }

}  // namespace

HierarchicalSchedule::HierarchicalSchedule(const MessagePlan& plan,
                                           const std::vector<std::vector<Rank>>& rings,
                                           int ranks_per_node)
    : plan_(plan), per_node_(ranks_per_node), orders_(node_orders(rings, ranks_per_node)) {
  GRADHAUL_ASSERT(per_node_ >= 2, "a level within nodes has at least two ranks");
  GRADHAUL_ASSERT(plan.parts() == orders_.ranks() * per_node_,
                  "each rank of each node has a chunk");
  GRADHAUL_ASSERT(orders_.channels() == plan.channels(), "each channel has its order of nodes");
}

std::int64_t HierarchicalSchedule::steps(int lane) const {
  return lane == kAround ? 2 * std::int64_t{nodes()} - 1 : nodes();
}

std::int64_t HierarchicalSchedule::items_per_slice(Rank /*rank*/, int /*channel*/, int lane) const {
  switch (lane) {
    case kScatter:
    case kReduceLocally:
      return batches(per_node_ - 1);
    case kAround:
      return batches(per_node_);  // the next node, and the others of this one
    default:
      return per_node_ - 1;
  }
}

std::int64_t HierarchicalSchedule::items(Rank rank, int channel, int lane) const {
  return steps(lane) * slices_per_step(channel) * items_per_slice(rank, channel, lane);
}

std::int64_t HierarchicalSchedule::index_of(int channel, int lane, std::int64_t step,
                                            std::int64_t slice, int batch) const {
  return (step * slices_per_step(channel) + slice) * items_per_slice(0, channel, lane) + batch;
}

Span HierarchicalSchedule::span_of(const Place& place, int local, std::int64_t step) const {
  const auto chunk = static_cast<int>((place.node - step + 2 * nodes()) % nodes());
  return plan_.slice(place.channel, local * nodes() + chunk, place.slice);
}

// Another rank of the node, so many numbers further on.
Rank HierarchicalSchedule::peer(const Place& place, int distance) const {
  return place.rank - place.local + (place.local + distance + per_node_) % per_node_;
}

Item HierarchicalSchedule::item(Rank rank, int channel, int lane, std::int64_t index) const {
  const std::int64_t items = items_per_slice(rank, channel, lane);
  const std::int64_t slices = slices_per_step(channel);
  Place place;
  place.rank = rank;
  place.channel = channel;
  place.node = orders_.position(channel, rank / per_node_);
  place.local = rank % per_node_;
  place.step = index / items / slices;
  place.slice = index / items % slices;
  place.batch = static_cast<int>(index % items);
  switch (lane) {
    case kScatter:
      return scatter(place);
    case kReduceLocally:
      return reduce(place);
    case kAround:
      return around(place);
    default:
      return gather(place);
  }
}

Item HierarchicalSchedule::scatter(const Place& place) const {
  Item item;
  const int first = 1 + place.batch * kMaxPeersOfItem;
  for (int distance = first; distance < per_node_ && item.send_count < kMaxPeersOfItem;
       ++distance) {
    const Rank to = peer(place, distance);
    item.sends[static_cast<std::size_t>(item.send_count++)] = {
        to, kThere, Region::kInput, span_of(place, to % per_node_, place.step)};
  }
  return item;
}

Item HierarchicalSchedule::reduce(const Place& place) const {
  Item item;
  item.span = span_of(place, place.local, place.step);
  item.operation = Operation::kReduce;
  if (place.batch > 0) item.left = Region::kOutput;
  const int first = 1 + place.batch * kMaxPeersOfItem;
  for (int distance = first; distance < per_node_ && item.receive_count < kMaxPeersOfItem;
       ++distance) {
    item.receives[static_cast<std::size_t>(item.receive_count++)] = {peer(place, -distance),
                                                                     kThere};
  }
  return item;
}

// Distance 0 stands for the next node.
Item HierarchicalSchedule::around(const Place& place) const {
  const int n = nodes();
  const auto rank_of = [&](int position) {
    return orders_.at(place.channel, (position + n) % n) * per_node_ + place.local;
  };
  const Span span = span_of(place, place.local, place.step);
  Item item;
  if (place.batch == 0 && place.step > 0) {
    item.span = span;
    item.operation = place.step < n ? Operation::kReduce : Operation::kCopy;
    item.left = Region::kOutput;
    item.last_reduction = place.step == n - 1;
    item.receive_count = 1;
    item.receives[0] = {rank_of(place.node - 1), kThere};
  }
  if (place.batch == 0) {
    const int last = batches(per_node_ - 1) - 1;
    item.after =
        place.step < n
            ? Dependency{kReduceLocally,
                         index_of(place.channel, kReduceLocally, place.step, place.slice, last)}
            : Dependency{kAround, index_of(place.channel, kAround, place.step - n, place.slice, 0)};
  }
  const int first = place.batch * kMaxPeersOfItem;
  for (int distance = first; distance < std::min(per_node_, first + kMaxPeersOfItem); ++distance) {
    const bool across = distance == 0;
    if (across ? place.step == 2 * n - 2 : place.step < n - 1) continue;
    item.sends[static_cast<std::size_t>(item.send_count++)] = {
        across ? rank_of(place.node + 1) : peer(place, distance), across ? kThere : kBack,
        Region::kOutput, span};
  }
  return item;
}

// Chunks come in the order in which the ring completes them, from step n - 1 on.
Item HierarchicalSchedule::gather(const Place& place) const {
  const Rank from = peer(place, -1 - place.batch);
  Item item;
  item.span = span_of(place, from % per_node_, place.step + nodes() - 1);
  item.operation = Operation::kCopy;
  item.receive_count = 1;
  item.receives[0] = {from, kBack};
  const std::int64_t left_in = (place.step + nodes() - 1) % nodes();
  const int distance = (from - place.rank + per_node_) % per_node_;
  item.after = Dependency{kScatter, index_of(place.channel, kScatter, left_in, place.slice,
                                             (distance - 1) / kMaxPeersOfItem)};
  return item;
}

}  // namespace gradhaul
