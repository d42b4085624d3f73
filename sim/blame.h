#pragma once

// The critical path, carried forward: for everything that completes, how the time since the start
// of the collective splits by resource and cause along the chain of what had to be waited for.
// Since the core posts inside the completion that fulfilled its last condition, the chain of a post
// is the chain of that completion: the max is decided where it falls.
//
// Chains share their past. A past that only one chain still refers to is folded into it: at once
// where that chain is extended, and for all chains whenever there are twice as many pieces as the
// last such folding left. So memory grows with what is in flight and with the number of resources,
// not with the message.

#include <cstdint>
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
  void set_history(ChainId chain, ChainHistory history);
  std::size_t live() const { return nodes_.size() - free_.size(); }

 private:
  struct Node {
    ChainId past = -1;
    std::int32_t holders = 0;  // chains and handles that refer to it
    ChainHistory own;          // its origin counts where it has no past; its copy in any case
  };
  Node& node(ChainId id) { return nodes_[static_cast<std::size_t>(id)]; }
  ChainId add_node();
  void fold(ChainId id);
  void fold_all();
  void free_node(ChainId id);

  Copies copies_;
  std::vector<Node> nodes_;
  std::vector<ChainId> free_;
  std::size_t fold_all_at_ = 4096;  // live nodes
};

}  // namespace gradhaul
