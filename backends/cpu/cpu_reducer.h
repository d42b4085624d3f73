#pragma once

// A Reducer over host memory. Asynchronous as core/reducer.h wants it: post_reduce() only queues,
// and the driver has the oldest request of a stream computed and its completion delivered when it
// likes. Nothing is read before that, so a slot handed back too early shows in the result.
//
// What an element becomes is said in element_kernels.h. One thread, the driver's.

#include <cstdint>
#include <deque>
#include <vector>

#include "backends/cpu/element_kernels.h"
#include "backends/cpu/host_memory.h"
#include "core/completion.h"
#include "core/reducer.h"

namespace gradhaul {

// What a kReduce does with an element. That only an average divides is asserted.
ElementOperation operation_of(const ReduceRequest& request);

class CpuReducer final : public Reducer {
 public:
  explicit CpuReducer(const HostMemory& memory, InstructionSet set = best_instruction_set());

  void post_reduce(const ReduceRequest& request) override;

  std::size_t pending() const { return pending_; }
  std::size_t pending(std::int32_t stream) const;
  // Computes the oldest request of `stream`, of which there is one, and delivers its kReduceDone.
  void complete_oldest(std::int32_t stream, CompletionSink& sink);
  // The oldest request of each stream that has one; whether there was any.
  bool complete_one_of_each(CompletionSink& sink);

 private:
  void compute(const ReduceRequest& request) const;

  HostMemory memory_;
  const ElementKernels& kernels_;
  std::vector<std::deque<ReduceRequest>> streams_;
  std::size_t pending_ = 0;
};

}  // namespace gradhaul
