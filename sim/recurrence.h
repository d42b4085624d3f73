#pragma once

// Skips what recurs, exactly. A collective is the same slice, and then the same step, over and
// over: when everything that decides about the future is as it was some time before (relative to
// the clock and to the place in the schedule), and the schedule goes on asking for the same, then
// what happened in between will happen again and again, and is accounted for at once: times, bytes,
// counters, digests, and the parts of every critical path.
//
// Looks when one lane of one rank finishes a step, and in between as long as that finds anything.
// The first time that a state's hash is seen again (of until when links, kernels and memory are
// busy, which nearly always tells) only says that it may recur; the state is then kept in full, and
// what is added up until it comes back is compared word by word before anything is skipped. Two
// such watches may be open, one for a long period (a step) around one for a short (a slice) that
// recurs within it.
//
// Chains of blame are cut at the beginning of a watch, so that at its end each tells which chain it
// continues and what was added. That map to its n-th power is what n repetitions do.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/collective_engine.h"
#include "sim/blame.h"
#include "sim/kernel_reducer.h"
#include "sim/memory_ports.h"
#include "sim/packet_engine.h"
#include "sim/packet_transport.h"

namespace gradhaul {

// All of a run that has a state.
struct RunState {
  PacketEngine& engine;
  PacketTransport& transport;
  KernelReducer& kernels;
  MemoryPorts& memory;
  Blame& blame;
  const std::vector<std::unique_ptr<CollectiveEngine>>& ranks;
};

class Recurrence {
 public:
  explicit Recurrence(const RunState& run);

  // Whose progress says when to look.
  Rank probe() const { return 0; }
  // Whether it is time to look; asked whenever something completed at that rank.
  bool due();
  // Looks, between two instants, all ranks being under way. Skips nothing that ends after `limit`
  // (elapsed time, ps).
  void look(std::int64_t limit);
  // No more looking: ranks begin to end.
  void end() { ended_ = true; }
  // The chain's parts since the start of the collective.
  std::vector<TracePart> parts(ChainId chain) const;

 private:
  struct Watch {
    std::uint64_t hash = 0;
    std::vector<std::int64_t> words;
    std::int64_t place = 0;
    std::int64_t period = 0;  // expected, in items of the probe
    PacketEngineTotals engine;
    KernelReducer::Totals kernels;
    std::vector<std::int64_t> threads;
    std::optional<MemoryPorts> memory;
    std::vector<EngineProgress> ranks;
    std::vector<ChainHistory> chains;  // before they were cut
  };

  void describe();
  void describe_rest();
  void set_stride();
  void skip(std::uint64_t hash, std::int64_t limit);
  void watch(std::uint64_t hash);
  std::int64_t place() const;
  void open(std::uint64_t hash, std::int64_t period);
  bool recurs(const Watch& watch) const;
  std::int64_t repetitions(const Watch& watch, std::int64_t limit) const;
  void repeat(const Watch& watch, std::int64_t times);
  void close_last(std::int64_t times);
  void close_all_after(std::size_t count);
  void close_expired();

  RunState run_;
  std::size_t lane_ = 0;     // of the probe
  std::int64_t step_ = 1;    // items; after each it looks
  std::int64_t stride_ = 1;  // and after so many within a step
  std::int64_t last_place_ = 0;
  std::int64_t last_events_ = 0;
  std::int64_t fruitless_ = 0;  // looks since something was skipped
  bool ended_ = false;
  StateWords words_;
  bool engine_described_ = false;
  bool described_ = false;    // else only until when links, kernels and memory are busy
  bool timing_tells_ = true;  // that hash is enough to see that a state may recur
  std::map<std::uint64_t, std::int64_t>
      seen_;                    // state's hash, and the place where it was last seen
  std::vector<Watch> watches_;  // at most two, the longer first
};

}  // namespace gradhaul
