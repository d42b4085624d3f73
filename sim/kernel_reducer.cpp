#include "sim/kernel_reducer.h"

#include <algorithm>

#include "core/protocol.h"
#include "core/repeated_growth.h"
#include "sim/run_observation.h"

namespace gradhaul {

class KernelReducer::RankReducer final : public Reducer {
 public:
  RankReducer(KernelReducer& all, Rank rank) : all_(all), rank_(rank) {}
  void post_reduce(const ReduceRequest& request) override { all_.post(rank_, request); }

 private:
  KernelReducer& all_;
  Rank rank_;
};

KernelReducer::KernelReducer(RunContext& context, MemoryPorts& memory)
    : context_(context), memory_(memory) {}

KernelReducer::KernelReducer(RunContext& context, MemoryPorts& memory, int ranks,
                             int ranks_per_node, int channels, Protocol protocol)
    : KernelReducer(context, memory) {
  const int gpus = context.fabric.cluster().node.gpu_count;
  for (Rank rank = 0; rank < ranks; ++rank) {
    open(rank, rank / ranks_per_node * gpus + rank % ranks_per_node, channels, protocol);
  }
}

KernelReducer::~KernelReducer() = default;

void KernelReducer::open(Rank number, int gpu, int channels, Protocol protocol) {
  const auto place = static_cast<std::size_t>(number);
  if (place >= ports_.size()) {
    ports_.resize(place + 1);
    busy_.resize(place + 1);
    bytes_.resize(place + 1);
  }
  Port& port = ports_[place];
  if (!port.reducer) port.reducer = std::make_unique<RankReducer>(*this, number);
  if (port.room < channels) {
    port.first_stream = static_cast<std::int32_t>(streams_.size());
    port.room = channels;
    streams_.resize(streams_.size() + static_cast<std::size_t>(channels));
    turns_.resize(streams_.size(), 0);
  }
  port.gpu = gpu;
  port.channels = channels;
  port.protocol = protocol;
  const int each = context_.fabric.cluster().node.gpu_count;
  port.reduce = context_.fabric.reduce_resource(gpu / each, gpu % each);
  port.memory = context_.fabric.memory_resource(gpu / each, gpu % each);
  port.rate = context_.fabric.reduce_rate(gpu / each, gpu % each);
  for (int channel = 0; channel < channels; ++channel) {
    streams_[static_cast<std::size_t>(port.first_stream + channel)] = {};
  }
  busy_[place] = bytes_[place] = 0;
}

Reducer& KernelReducer::of(Rank port) { return *ports_[static_cast<std::size_t>(port)].reducer; }

void KernelReducer::take_turns(Rank port, const std::vector<int>& turns) {
  taking_part_.push_back(port);
  std::copy(turns.begin(), turns.end(),
            turns_.begin() + ports_[static_cast<std::size_t>(port)].first_stream);
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
  const Port& port = ports_[place];
  const auto number = static_cast<std::size_t>(port.first_stream + request.stream);
  Stream& stream = streams_[number];
  const std::int64_t now = context_.engine.now();
  if (stream.free < now) {
    stream.free = now;
    stream.carry = {};
  }
  const Bytes bytes = with_flags(port.protocol, size_of(request.datatype) * request.count);
  const Duration work = serialisation_time(bytes, port.rate, stream.carry);
  const std::int64_t passes = request.kind == ReduceKind::kReduce ? 3 : 2;
  const std::int64_t memory = memory_.book(port.gpu, bytes * passes, now);
  const std::int64_t kernel_end = stream.free + work.ps;
  const std::int64_t end = std::max(kernel_end, memory);
  scratch_.count = 0;
  // Behind something that memory held up, it is memory that it waits for.
  scratch_.add(stream.memory_bound ? port.memory : port.reduce, Cause::kBusy, stream.free - now);
  scratch_.add(port.reduce, Cause::kBusy, work.ps);
  scratch_.add(port.memory, Cause::kBusy, end - kernel_end);
  stream.memory_bound = end > kernel_end;
  if (context_.observation != nullptr) {
    context_.observation->on_operation(rank, request, bytes, stream.free, end);
  }
  busy_[place] += end - stream.free;
  bytes_[place] += bytes.count;
  stream.free = end;
  const ChainId chain = context_.blame.extend(context_.cause->chain(), scratch_);
  const std::int32_t index = add_operation({rank, request.stream, chain});
  context_.engine.schedule(end, static_cast<std::uint32_t>(RunEvent::kReduceDone), index,
                           port.first_stream + turns_[number]);
}

void KernelReducer::append_state(StateWords& words) const {
  for (const Rank rank : taking_part_) {
    const Port& port = ports_[static_cast<std::size_t>(rank)];
    for (int channel = 0; channel < port.channels; ++channel) {
      const Stream& stream = streams_[static_cast<std::size_t>(port.first_stream + channel)];
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
  CauseChain cause(context_.blame, done.chain);
  context_.router.deliver(done.rank, completion, cause);
  context_.blame.let_go(done.chain);
}

}  // namespace gradhaul
