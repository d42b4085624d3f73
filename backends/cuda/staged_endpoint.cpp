#include "backends/cuda/staged_endpoint.h"

#include <algorithm>
#include <thread>

#include "core/assert.h"

namespace gradhaul {

StagedEndpoint::StagedEndpoint(const CudaDevice& device, const EndpointRequest& request,
                               const Staging& staging, std::unique_ptr<Endpoint> inner)
    : memory_(request.memory),
      slot_size_(request.slot_size),
      slots_(request.slots),
      why_(staging.why),
      inner_(std::move(inner)) {
  const Bytes room = slot_size_ * slots_;
  HostMemory staged{staging.outgoing, staging.outgoing, staging.slots};
  Bytes outgoing;
  for (const ConnectionEnd& end : request.connections) {
    Connection& connection = connections_.emplace_back(device);
    connection.sends = end.sends;
    if (end.sends) {
      connection.outgoing = outgoing;
      connection.staging = bytes_at(staged, {Region::kOutput, outgoing}, room);
      outgoing += room;
    } else {
      connection.staging = bytes_at(staged, {Region::kSlots, end.slots_offset}, room);
      connection.slots = bytes_at(memory_, {Region::kSlots, end.slots_offset}, room);
    }
  }
}

void StagedEndpoint::post_write(const WriteRequest& request) {
  if (request.kind == WriteKind::kCredit) return inner_->post_write(request);
  Connection& connection = connections_[static_cast<std::size_t>(request.connection)];
  GRADHAUL_ASSERT(connection.sends, "data leaves the sending end");
  GRADHAUL_ASSERT(request.slot == connection.posted % slots_, "slots are taken in turn");
  GRADHAUL_ASSERT(request.length <= slot_size_, "a write fits its slot");
  GRADHAUL_ASSERT(connection.posted - connection.done < limits().max_writes_in_flight,
                  "no more writes in flight than the limits say");
  ++connection.posted;
  connection.waiting.push_back(request);
}

void StagedEndpoint::flush() {
  for (Connection& connection : connections_) {
    if (!connection.waiting.empty()) start_copies(connection);
  }
  inner_->flush();
}

// As many as there is room to stage for: what was staged there before has been written.
void StagedEndpoint::start_copies(Connection& connection) {
  while (!connection.waiting.empty() && connection.started - connection.done < slots_) {
    WriteRequest request = connection.waiting.front();
    connection.waiting.pop_front();
    const Bytes offset = slot_size_ * request.slot;
    std::byte* const staged = connection.staging.data() + offset.count;
    connection.copies.copy(staged, bytes_at(memory_, request.source, request.length));
    request.source = {Region::kOutput, connection.outgoing + offset};
    connection.copying.push_back(request);
    ++connection.started;
  }
}

class StagedEndpoint::Arrivals final : public CompletionSink {
 public:
  Arrivals(StagedEndpoint& endpoint, CompletionSink& sink) : endpoint_(endpoint), sink_(sink) {}
  void on_completion(const Completion& completion) override {
    endpoint_.on_inner(completion, sink_);
  }

 private:
  StagedEndpoint& endpoint_;
  CompletionSink& sink_;
};

void StagedEndpoint::on_inner(const Completion& completion, CompletionSink& sink) {
  Connection& connection = connections_[static_cast<std::size_t>(completion.id)];
  if (completion.kind == CompletionKind::kWriteDone) {
    ++connection.done;
    start_copies(connection);
  }
  const bool failed = completion.status != CompletionStatus::kOk;
  if (failed) connection.failed = true;
  if (completion.kind != CompletionKind::kWriteArrived || failed) {
    return sink.on_completion(completion);
  }
  const Bytes offset = slot_size_ * (connection.arrived++ % slots_);
  const auto at = static_cast<std::size_t>(offset.count);
  connection.copies.copy(
      connection.slots.data() + at,
      connection.staging.subspan(at, static_cast<std::size_t>(completion.amount)));
  connection.lengths.push_back(completion.amount);
}

bool StagedEndpoint::poll(CompletionSink& sink) {
  Arrivals arrivals(*this, sink);
  bool any = inner_->poll(arrivals);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    any = take_copied(connections_[i], static_cast<ConnectionId>(i), sink) || any;
  }
  if (any) inner_->flush();
  return any;
}

// Whether anything that was being copied no longer is.
bool StagedEndpoint::take_copied(Connection& connection, ConnectionId id, CompletionSink& sink) {
  if (connection.copies.pending() == 0) return false;
  const int copied = connection.copies.take_completed();
  for (int left = copied; left > 0; --left) {
    if (connection.sends) {
      inner_->post_write(connection.copying.front());
      connection.copying.pop_front();
      continue;
    }
    const std::int64_t length = connection.lengths.front();
    connection.lengths.pop_front();
    sink.on_completion(
        {.kind = CompletionKind::kWriteArrived,
         .status = connection.failed ? CompletionStatus::kFlushed : CompletionStatus::kOk,
         .id = id,
         .amount = length});
  }
  return copied > 0;
}

void StagedEndpoint::restart() {
  for (Connection& connection : connections_) {
    GRADHAUL_ASSERT(connection.done == connection.posted && connection.copies.pending() == 0,
                    "a run begins where nothing is under way");
    connection.posted = 0;
    connection.started = 0;
    connection.done = 0;
    connection.arrived = 0;
  }
  inner_->restart();
}

// Nobody is woken by a copy.
void StagedEndpoint::wait(std::chrono::microseconds most) {
  const bool copying =
      std::any_of(connections_.begin(), connections_.end(),
                  [](const Connection& connection) { return connection.copies.pending() > 0; });
  if (copying) return std::this_thread::yield();
  inner_->wait(most);
}

std::vector<std::pair<std::string, std::string>> StagedEndpoint::facts() const {
  auto facts = inner_->facts();
  facts.emplace_back("gpu_memory", "host");
  facts.emplace_back("gpu_memory_why", why_);
  return facts;
}

std::unique_ptr<Endpoint> StagedEndpointMaker::make(const EndpointRequest& request) {
  const CudaDevice& device = device_();
  const Bytes room = request.slot_size * request.slots;
  const auto sending = std::count_if(request.connections.begin(), request.connections.end(),
                                     [](const ConnectionEnd& end) { return end.sends; });
  const auto grow = [&](PinnedBuffer& buffer, Bytes size) {
    if (static_cast<std::int64_t>(buffer.bytes().size()) >= size.count) return;
    buffer = PinnedBuffer();
    buffer = PinnedBuffer(device, size);
  };
  grow(outgoing_, room * sending);
  grow(slots_, Bytes{static_cast<std::int64_t>(request.memory.slots.size())});
  EndpointRequest inner = request;
  inner.memory = {outgoing_.bytes(), outgoing_.bytes(), slots_.bytes()};
  return std::make_unique<StagedEndpoint>(
      device, request, StagedEndpoint::Staging{outgoing_.bytes(), slots_.bytes(), why_},
      inner_.make(inner));
}

}  // namespace gradhaul
