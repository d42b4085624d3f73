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

#include "sim/trace_parts.h"

namespace gradhaul {

using ChainId = std::int32_t;

class Blame {
 public:
  Blame();

  // The start of the collective: no time has passed. Each chain handed out is held once.
  ChainId start();
  // `chain`, and then these parts.
  ChainId extend(ChainId chain, const Trace& parts);
  void hold(ChainId chain) { ++node(chain).holders; }
  void let_go(ChainId chain);

  // Sum over all parts, in ps.
  std::int64_t total(ChainId chain) const { return nodes_[static_cast<std::size_t>(chain)].total; }
  // One part per resource and cause, in the order of both.
  std::vector<TracePart> parts(ChainId chain) const;
  std::size_t live() const { return nodes_.size() - free_.size(); }

 private:
  struct Entry {
    std::int64_t key;  // resource and cause
    std::int64_t ps;
  };
  struct Node {
    ChainId past = -1;
    std::int32_t holders = 0;    // chains and handles that refer to it
    std::int64_t total = 0;      // of the whole chain
    std::vector<Entry> entries;  // sorted by key
  };
  Node& node(ChainId id) { return nodes_[static_cast<std::size_t>(id)]; }
  ChainId add_node();
  void fold(ChainId id);
  void fold_all();
  void free_node(ChainId id);
  static void add(std::vector<Entry>& to, const Entry& entry);

  std::vector<Node> nodes_;
  std::vector<ChainId> free_;
  std::size_t fold_all_at_ = 4096;  // live nodes
};

}  // namespace gradhaul
