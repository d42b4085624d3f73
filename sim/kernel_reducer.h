#pragma once

// The core's Reducer over a model of reduce and copy kernels: each channel of a rank is a thread
// block that works through its requests in order at the GPU's rate for one channel, and no faster
// than the GPU's memory allows (a reduction reads two operands and writes one, a copy reads one and
// writes one).

#include <memory>
#include <vector>

#include "core/reducer.h"
#include "sim/memory_ports.h"
#include "sim/run_context.h"

namespace gradhaul {

class KernelReducer {
 public:
  KernelReducer(RunContext& context, MemoryPorts& memory);
  // With a port for each rank of a cluster of which `ranks_per_node` take part.
  KernelReducer(RunContext& context, MemoryPorts& memory, int ranks, int ranks_per_node,
                int channels, Protocol protocol = Protocol::kSimple);
  ~KernelReducer();
  KernelReducer(const KernelReducer&) = delete;
  KernelReducer& operator=(const KernelReducer&) = delete;

  // Makes `port`, the number that completions are delivered to, the kernels of a collective on a
  // GPU of the cluster, none of them at work: what it was before, nothing of which is under way, is
  // forgotten.
  // Kernels read and write lines of `protocol`, flags included.
  void open(Rank port, int gpu, int channels, Protocol protocol = Protocol::kSimple);
  Reducer& of(Rank port);
  // Of each port that takes part: the order in which streams that end at the same instant are
  // heard, by stream.
  void take_turns(Rank port, const std::vector<int>& turns);
  void on_event(RunEvent event, std::int32_t index);

  // What decides about the future; and of an operation that is under way.
  void append_state(StateWords& words) const;
  void append_operation(StateWords& words, std::int32_t index) const;
  // What has been added up; and that, since `since`, so many times more.
  struct Totals {
    std::vector<std::int64_t> busy;
    std::vector<std::int64_t> bytes;
  };
  Totals totals() const { return {busy_, bytes_}; }
  void repeat(const Totals& since, std::int64_t times);

  // Kernel time of all channels of a port together, since it was opened.
  std::int64_t busy(Rank port) const { return busy_[static_cast<std::size_t>(port)]; }
  std::int64_t bytes(Rank port) const { return bytes_[static_cast<std::size_t>(port)]; }

 private:
  class RankReducer;
  struct Stream {
    std::int64_t free = 0;
    SerialisationCarry carry;
    bool memory_bound = false;  // what it did last waited for memory
  };
  struct Port {
    std::unique_ptr<RankReducer> reducer;
    int gpu = 0;
    int channels = 0;
    std::int32_t first_stream = 0;
    std::int32_t room = 0;  // for streams
    ResourceId reduce = kNoResource;
    ResourceId memory = kNoResource;
    BitRate rate;  // of one channel's kernel
    Protocol protocol = Protocol::kSimple;
  };
  struct Operation {
    Rank rank = 0;
    std::int32_t stream = 0;
    ChainId chain = kNone;  // of its completion
  };

  void post(Rank rank, const ReduceRequest& request);
  std::int32_t add_operation(const Operation& operation);

  RunContext& context_;
  MemoryPorts& memory_;
  std::vector<Port> ports_;
  std::vector<Stream> streams_;      // port by port
  std::vector<std::int32_t> turns_;  // as streams_
  std::vector<Rank> taking_part_;
  std::vector<std::int64_t> busy_;
  std::vector<std::int64_t> bytes_;
  std::vector<Operation> operations_;
  std::vector<std::int32_t> free_operations_;
  Trace scratch_;
};

}  // namespace gradhaul
