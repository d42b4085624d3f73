#include "sim/kernel_reducer.h"

#include <algorithm>

#include "core/protocol.h"
#include "core/repeated_growth.h"

namespace gradhaul {

class KernelReducer::RankReducer final : public Reducer {
 public:
  RankReducer(KernelReducer& all, Rank rank) : all_(all), rank_(rank) {}
  void post_reduce(const ReduceRequest& request) override { all_.post(rank_, request); }

 private:
  KernelReducer& all_;
  Rank rank_;
};

KernelReducer::KernelReducer(RunContext& context, MemoryPorts& memory, int ranks,
                             int ranks_per_node, int channels, Protocol protocol)
    : context_(context),
      memory_(memory),
      channels_(channels),
      protocol_(protocol),
      rate_(context.fabric.cluster().node.gpu.reduce_bandwidth),
      streams_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(channels)),
      turns_(streams_.size(), 0),
      busy_(static_cast<std::size_t>(ranks), 0),
      bytes_(static_cast<std::size_t>(ranks), 0) {
  for (Rank rank = 0; rank < ranks; ++rank) {
    ranks_.push_back(std::make_unique<RankReducer>(*this, rank));
    const int node = rank / ranks_per_node;
    const int gpu = rank % ranks_per_node;
    reduce_resources_.push_back(context.fabric.reduce_resource(node, gpu));
    memory_resources_.push_back(context.fabric.memory_resource(node, gpu));
  }
}

KernelReducer::~KernelReducer() = default;

Reducer& KernelReducer::of(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

void KernelReducer::take_turns(Rank rank, const std::vector<int>& turns) {
  taking_part_.push_back(rank);
  std::copy(turns.begin(), turns.end(), turns_.begin() + std::ptrdiff_t{rank} * channels_);
}

std::int32_t KernelReducer::add_operation(const Operation& operation) {
  if (free_operations_.empty()) {
    operations_.push_back(operation);
    return static_cast<std::int32_t>(operations_.size() - 1);
  }
  const std::int32_t index = free_operations_.back();
  free_operations_.pop_back();
  operations_[static_cast<std::size_t>(index)] = operation;
  return index;
}

void KernelReducer::post(Rank rank, const ReduceRequest& request) {
  const auto place = static_cast<std::size_t>(rank);
  const std::size_t number =
      place * static_cast<std::size_t>(channels_) + static_cast<std::size_t>(request.stream);
  Stream& stream = streams_[number];
  const std::int64_t now = context_.engine.now();
  if (stream.free < now) {
    stream.free = now;
    stream.carry = {};
  }
  const Bytes bytes = with_flags(protocol_, size_of(request.datatype) * request.count);
  const Duration work = serialisation_time(bytes, rate_, stream.carry);
  const std::int64_t passes = request.kind == ReduceKind::kReduce ? 3 : 2;
  const std::int64_t memory =
      memory_.book(context_.fabric.cluster().gpu_of(rank), bytes * passes, now);
  const std::int64_t kernel_end = stream.free + work.ps;
  const std::int64_t end = std::max(kernel_end, memory);
  scratch_.count = 0;
  // Behind something that memory held up, it is memory that it waits for.
  scratch_.add(stream.memory_bound ? memory_resources_[place] : reduce_resources_[place],
               Cause::kBusy, stream.free - now);
  scratch_.add(reduce_resources_[place], Cause::kBusy, work.ps);
  scratch_.add(memory_resources_[place], Cause::kBusy, end - kernel_end);
  stream.memory_bound = end > kernel_end;
  busy_[place] += end - stream.free;
  bytes_[place] += bytes.count;
  stream.free = end;
  const ChainId chain = context_.blame.extend(context_.cause, scratch_);
  const std::int32_t index = add_operation({rank, request.stream, chain});
  context_.engine.schedule(end, static_cast<std::uint32_t>(RunEvent::kReduceDone), index,
                           rank * channels_ + turns_[number]);
}

void KernelReducer::append_state(StateWords& words) const {
  for (const Rank rank : taking_part_) {
    for (int channel = 0; channel < channels_; ++channel) {
      const Stream& stream = streams_[static_cast<std::size_t>(rank * channels_ + channel)];
      words.add_due(stream.free);
      if (stream.free <= words.now()) continue;
      words.add(stream.carry.remainder, stream.memory_bound);
    }
  }
}

void KernelReducer::append_operation(StateWords& words, std::int32_t index) const {
  const Operation& operation = operations_[static_cast<std::size_t>(index)];
  words.add(operation.rank, operation.stream);
  words.add_chain(operation.chain);
}

void KernelReducer::repeat(const Totals& since, std::int64_t times) {
  for (std::size_t i = 0; i < busy_.size(); ++i) {
    grow_again(busy_[i], since.busy[i], times);
    grow_again(bytes_[i], since.bytes[i], times);
  }
}

void KernelReducer::on_event(RunEvent /*event*/, std::int32_t index) {
  const Operation done = operations_[static_cast<std::size_t>(index)];
  free_operations_.push_back(index);
  Completion completion;
  completion.kind = CompletionKind::kReduceDone;
  completion.id = done.stream;
  context_.router.deliver(done.rank, completion, done.chain);
  context_.blame.let_go(done.chain);
}

}  // namespace gradhaul
