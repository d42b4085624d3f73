#pragma once

// The critical path, carried forward: for everything that completes, how the time since the start
// of the collective splits by resource and cause along the chain of what had to be waited for.
// Since the core posts inside the completion that fulfilled its last condition, the chain of a post
// is the chain of that completion: the max is decided where it falls.
//
// Chains share their past. What is added to one is written behind all that was added before, and
// the past stays as it is: it lies where the machine's caches have long dropped it. Whenever all
// that has been written is twice what the last folding left, pasts that only one chain still refers
// to are folded into it, and what nobody refers to is left behind. So memory grows with what is in
// flight and with the number of resources, not with the message.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/copies.h"
#include "sim/part_sums.h"
#include "sim/trace_parts.h"

namespace gradhaul {

using ChainId = std::int32_t;

// Where a chain comes from, and the parts that were added since.
struct ChainHistory {
  std::int32_t origin = -1;  // -1: the start of the collective; else see Blame::cut()
  int copy = 0;              // copies (sim/copies.h) from the origin to who holds the chain now
  PartSums sums;             // resources counted from the origin

  // What it comes from was itself like this.
  void follow(const ChainHistory& earlier, const Copies& copies);
  // One part per resource and cause, in the order of both; resources counted from the holder.
  std::vector<TracePart> parts(const Copies& copies) const;
};

class Blame {
 public:
  explicit Blame(const Copies& copies = {}) : copies_(copies) {}

  // The start of the collective, or of what `origin` is the number of: no time has passed. Each
  // chain handed out is held once.
  ChainId start(std::int32_t origin = -1);
  // `chain`, and then these parts, whose resources are counted from its holder; whoever holds it
  // then is `shift` copies on.
  ChainId extend(ChainId chain, const Trace& parts, int shift = 0);
  void hold(ChainId chain) { ++node(chain).holders; }
  void let_go(ChainId chain);

  // Sum over all parts, in ps.
  std::int64_t total(ChainId chain) const;
  // One part per resource and cause, in the order of both.
  std::vector<TracePart> parts(ChainId chain) const;
  ChainHistory history(ChainId chain) const;
  // Takes their past from chains that all differ, and returns it: from now on the i-th is an origin
  // of that number.
  std::vector<ChainHistory> cut(const std::vector<ChainId>& chains);
  void set_history(ChainId chain, const ChainHistory& history);
  std::size_t live() const { return nodes_.size() - free_.size(); }
  // What is kept: chains and points where some part, and the parts of each.
  std::size_t pieces() const { return live() + parts_.size(); }

 private:
  using Part = PartSums::Entry;  // its resource counted from the origin
  struct Node {
    ChainId past = -1;
    std::int32_t holders = 0;  // chains and handles that refer to it; 0: it is free
    std::int32_t origin = -1;  // where it has no past
    int copy = 0;
    std::uint32_t first = 0;  // its own, among parts_
    std::uint32_t count = 0;
  };
  Node& node(ChainId id) { return nodes_[static_cast<std::size_t>(id)]; }
  const Node& node(ChainId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  std::span<const Part> own_parts(ChainId id) const {
    return {parts_.data() + node(id).first, node(id).count};
  }
  ChainId add_node();
  void free_node(ChainId id);
  void fold_all();
  void fold(ChainId id);
  void add_folded(const Part& part, std::size_t begin);

  static constexpr std::size_t kFewest = 16384;

  Copies copies_;
  std::vector<Node> nodes_;
  std::vector<ChainId> free_;
  std::vector<Part> parts_;
  std::size_t fold_all_at_ = kFewest;  // nodes in use and parts
  // While all are folded: what is left, pasts that will be part of what refers to them, and by key
  // where its sum lies behind the first of the chain at hand, if it has one.
  std::vector<Part> folded_;
  std::vector<bool> absorbed_;
  std::vector<std::uint32_t> place_of_key_;
};

}  // namespace gradhaul
