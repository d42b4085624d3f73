#include "core/double_binary_tree_schedule.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

BinaryTreePlace first_tree_place(int node, int nodes) {
  int bit = 1;
  while (bit < nodes && (bit & node) == 0) bit <<= 1;
  BinaryTreePlace place;
  if (node == 0) {
    if (nodes > 1) place.children[1] = bit >> 1;
    return place;
  }
  place.parent = (node ^ bit) | (bit << 1);
  if (place.parent >= nodes) place.parent = node ^ bit;
  int below = bit >> 1;
  if (below == 0) return place;
  place.children[0] = node - below;
  // The subtree above this place may be cut short by the number of nodes: its root is then lower.
  while (below > 0 && node + below >= nodes) below >>= 1;
  if (below > 0) place.children[1] = node + below;
  return place;
}

// The ranks of each node in ring order, nodes in the order in which the ring first meets them.
std::vector<std::vector<Rank>> chains_of(const std::vector<Rank>& ring, int ranks_per_node) {
  std::vector<std::vector<Rank>> chains;
  std::vector<int> chain_of_node(ring.size(), -1);
  for (const Rank rank : ring) {
    int& chain = chain_of_node[static_cast<std::size_t>(rank / ranks_per_node)];
    if (chain < 0) {
      chain = static_cast<int>(chains.size());
      chains.emplace_back();
    }
    chains[static_cast<std::size_t>(chain)].push_back(rank);
  }
  const Rank rail = chains.front().front() % ranks_per_node;
  for (std::vector<Rank>& chain : chains) {
    if (chain.front() % ranks_per_node != rail && chain.back() % ranks_per_node == rail) {
      std::reverse(chain.begin(), chain.end());
    }
  }
  return chains;
}

}  // namespace

BinaryTreePlace binary_tree_place(int node, int nodes, int tree) {
  if (tree == 0) return first_tree_place(node, nodes);
  const bool mirrored = nodes % 2 == 0;
  const auto renamed = [&](int place) {
    if (place < 0) return place;
    return mirrored ? nodes - 1 - place : (place + 1) % nodes;
  };
  const int original = mirrored ? nodes - 1 - node : (node - 1 + nodes) % nodes;
  const BinaryTreePlace place = first_tree_place(original, nodes);
  return {renamed(place.parent), {renamed(place.children[0]), renamed(place.children[1])}};
}

DoubleBinaryTreeSchedule::DoubleBinaryTreeSchedule(const MessagePlan& plan,
                                                   const std::vector<std::vector<Rank>>& rings,
                                                   int ranks_per_node)
    : plan_(plan), ranks_(rings.empty() ? 0 : static_cast<Rank>(rings.front().size())) {
  GRADHAUL_ASSERT(plan.parts() == 1 || plan.parts() == 2, "one tree or two");
  GRADHAUL_ASSERT(rings.size() == static_cast<std::size_t>(plan.channels()),
                  "each channel has its order of ranks");
  GRADHAUL_ASSERT(ranks_ >= 2 && ranks_per_node >= 1, "a tree joins at least two ranks");
  seats_.resize(rings.size() * static_cast<std::size_t>(plan.parts() * ranks_));
  for (int channel = 0; channel < plan.channels(); ++channel) {
    const std::vector<Rank>& ring = rings[static_cast<std::size_t>(channel)];
    std::vector<Rank> sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    for (Rank r = 0; r < ranks_; ++r) {
      GRADHAUL_ASSERT(sorted.size() == static_cast<std::size_t>(ranks_) &&
                          sorted[static_cast<std::size_t>(r)] == r,
                      "an order holds each rank once");
    }
    seat_channel(channel, chains_of(ring, ranks_per_node));
    slices_.push_back(plan.slices_per_chunk(channel));
  }
}

void DoubleBinaryTreeSchedule::seat_channel(int channel,
                                            const std::vector<std::vector<Rank>>& chains) {
  const auto head = [&](int node) { return chains[static_cast<std::size_t>(node)].front(); };
  const auto nodes = static_cast<int>(chains.size());
  for (int tree = 0; tree < plan_.parts(); ++tree) {
    for (int node = 0; node < nodes; ++node) {
      const std::vector<Rank>& chain = chains[static_cast<std::size_t>(node)];
      for (std::size_t i = 0; i < chain.size(); ++i) {
        Seat& seat = seats_[seat_index(chain[i], channel, tree)];
        const auto add_child = [&](Rank child) {
          seat.children[static_cast<std::size_t>(seat.child_count++)] = child;
        };
        // The chain first: it is the nearest, and its sum the first to be there.
        if (i + 1 < chain.size()) add_child(chain[i + 1]);
        if (i > 0) {
          seat.parent = chain[i - 1];
          continue;
        }
        const BinaryTreePlace place = binary_tree_place(node, nodes, tree);
        if (place.parent >= 0) seat.parent = head(place.parent);
        for (const int child : place.children) {
          if (child >= 0) add_child(head(child));
        }
      }
    }
  }
}

std::int64_t DoubleBinaryTreeSchedule::items(Rank /*rank*/, int channel, int /*lane*/) const {
  return slices_per_step(channel);
}

Item DoubleBinaryTreeSchedule::item(Rank rank, int channel, int lane, std::int64_t index) const {
  const int tree = lane / 2;
  const Seat& seat = seats_[seat_index(rank, channel, tree)];
  const Span span = plan_.slice(channel, tree, index);
  if (lane % 2 == 0) return up(seat, lane, span);
  Item item = down(seat, lane, span);
  item.after = Dependency{lane - 1, index};
  return item;
}

Item DoubleBinaryTreeSchedule::up(const Seat& seat, int lane, Span span) const {
  Item item;
  item.span = span;
  item.operation = seat.child_count > 0 ? Operation::kReduce : Operation::kNone;
  item.last_reduction = seat.parent < 0;
  for (int i = 0; i < seat.child_count; ++i) {
    item.receives[static_cast<std::size_t>(i)] = {seat.children[static_cast<std::size_t>(i)], lane};
  }
  item.receive_count = seat.child_count;
  if (seat.parent >= 0) {
    const Region source = seat.child_count > 0 ? Region::kOutput : Region::kInput;
    item.sends[0] = {seat.parent, lane, source, span};
    item.send_count = 1;
  }
  return item;
}

Item DoubleBinaryTreeSchedule::down(const Seat& seat, int lane, Span span) const {
  Item item;
  item.span = span;
  if (seat.parent >= 0) {
    item.operation = Operation::kCopy;
    item.receives[0] = {seat.parent, lane};
    item.receive_count = 1;
  }
  for (int i = 0; i < seat.child_count; ++i) {
    item.sends[static_cast<std::size_t>(i)] = {seat.children[static_cast<std::size_t>(i)], lane,
                                               Region::kOutput, span};
  }
  item.send_count = seat.child_count;
  return item;
}

}  // namespace gradhaul
