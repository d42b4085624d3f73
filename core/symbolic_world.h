#pragma once

// The engines of all ranks on a transport and a reducer that move symbols. Nothing happens until a
// pending completion is delivered, and the caller says which: any order that the transport's and
// the reducer's contracts allow can be played. It checks both sides of the contracts as it goes.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/collective_engine.h"
#include "core/symbolic_memory.h"

namespace gradhaul::oracle {

struct SymbolicSettings {
  EngineSettings engine;
  std::int64_t count = 0;  // elements of a rank's message
  bool in_place = false;
  std::int32_t max_writes_in_flight = 4096;
};

class SymbolicWorld {
 public:
  // The schedule outlives it.
  SymbolicWorld(const Schedule& schedule, const SymbolicSettings& settings);
  ~SymbolicWorld();
  SymbolicWorld(const SymbolicWorld&) = delete;
  SymbolicWorld& operator=(const SymbolicWorld&) = delete;

  void start();

  // Completions are delivered in order within a queue, in any order between queues.
  std::size_t queues() const { return queues_.size(); }
  std::size_t pending(std::size_t queue) const { return queues_[queue].size(); }
  CompletionKind kind(std::size_t queue) const { return queues_[queue].front().completion.kind; }
  // Queues of the completions that came up since the last call, one entry for each.
  std::vector<std::size_t> take_new();
  void deliver(std::size_t queue, CompletionStatus status = CompletionStatus::kOk);

  bool finished() const;
  Rank ranks() const { return schedule_.ranks(); }
  CollectiveEngine& engine(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)].engine; }
  SymbolicMemory& memory(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)].memory; }
  Violations& violations() { return violations_; }
  std::int64_t posts() const { return posts_; }
  std::int64_t flushes() const { return flushes_; }
  // The stall tables of all ranks.
  std::string describe() const;
  // Of everything that decides what happens next.
  std::uint64_t fingerprint() const;

 private:
  class RankSeam;
  struct Pending {
    Completion completion;
    WriteRequest write;       // of a data write done or arrived; the slot is the peer's, from 0
    ReduceRequest operation;  // of a reduction done
  };
  // Of one kind at one place, in order. A world of 64 ranks has tens of thousands of these, most of
  // them short.
  struct Queue {
    std::vector<Pending> entries;
    std::size_t first = 0;
    std::size_t size() const { return entries.size() - first; }
    const Pending& front() const { return entries[first]; }
    void drop_front() {
      if (++first < entries.size()) return;
      entries.clear();
      first = 0;
    }
  };
  // An end of a connection, and what the contract lets it do.
  struct End {
    Rank peer = 0;
    ConnectionId peer_id = 0;
    Bytes slots_offset;
    std::int64_t credits = 0;    // at the sender: slots it may still write to
    std::int64_t free = 0;       // at the receiver: slots free again and not yet returned
    std::int64_t in_flight = 0;  // posts of this end that are not done
    std::size_t first_queue = 0;
  };
  struct RankState {
    std::unique_ptr<RankSeam> seam;
    std::unique_ptr<CollectiveEngine> engine;
    std::unique_ptr<SymbolicMemory> memory;
    std::vector<End> ends;
    std::size_t first_reduce_queue = 0;
  };

  void connect();
  void on_write(Rank rank, const WriteRequest& request);
  void on_data(Rank rank, const WriteRequest& request);
  void on_reduce(Rank rank, const ReduceRequest& request);
  void add(std::size_t queue, const Pending& pending);
  void settle(Rank rank, const Pending& pending);
  void check_post();

  const Schedule& schedule_;
  const SymbolicSettings settings_;
  Violations violations_;
  std::vector<RankState> ranks_;
  std::vector<Queue> queues_;
  std::vector<Rank> rank_of_queue_;
  std::vector<std::size_t> new_;
  bool delivering_ = false;
  bool unflushed_ = false;
  std::int64_t posts_ = 0;
  std::int64_t flushes_ = 0;
};

}  // namespace gradhaul::oracle
