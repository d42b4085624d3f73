#include "core/symbolic_world.h"

#include <algorithm>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/assert.h"

namespace gradhaul::oracle {

class SymbolicWorld::RankSeam final : public Transport, public Reducer {
 public:
  RankSeam(SymbolicWorld& world, Rank rank) : world_(world), rank_(rank) {}

  TransportLimits limits() const override {
    TransportLimits limits;
    limits.max_write = world_.settings_.engine.slot_size;
    limits.max_writes_in_flight = world_.settings_.max_writes_in_flight;
    return limits;
  }
  void post_write(const WriteRequest& request) override { world_.on_write(rank_, request); }
  void flush() override {
    world_.unflushed_ = false;
    ++world_.flushes_;
  }
  void post_reduce(const ReduceRequest& request) override { world_.on_reduce(rank_, request); }

 private:
  SymbolicWorld& world_;
  Rank rank_;
};

SymbolicWorld::SymbolicWorld(const Schedule& schedule, const SymbolicSettings& settings)
    : schedule_(schedule), settings_(settings) {
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    RankState& state = ranks_.emplace_back();
    state.seam = std::make_unique<RankSeam>(*this, rank);
    state.engine = std::make_unique<CollectiveEngine>(schedule, rank, settings.engine);
    SymbolicMemory::Shape shape;
    shape.rank = rank;
    shape.ranks = schedule.ranks();
    shape.count = settings.count;
    shape.scratch = schedule.scratch(rank);
    shape.in_place = settings.in_place;
    shape.element = size_of(settings.engine.datatype);
    shape.slot_size = settings.engine.slot_size;
    shape.slots_bytes = state.engine->slots_bytes();
    state.memory = std::make_unique<SymbolicMemory>(shape, violations_);
  }
  connect();
}

SymbolicWorld::~SymbolicWorld() = default;

// Each end has two queues: of a sender, writes done and credits arrived; of a receiver, writes
// arrived and credits done. Each channel of a rank has one, of its reductions.
void SymbolicWorld::connect() {
  struct KnownEnd {
    ConnectionKey key;
    bool sends = false;
    Rank rank = 0;
    ConnectionId id = 0;
    bool operator<(const KnownEnd& other) const {
      return std::tie(key, sends) < std::tie(other.key, other.sends);
    }
  };
  std::vector<KnownEnd> known;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    const std::vector<ConnectionEnd>& connections = engine(rank).connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      known.push_back(
          {connections[i].key, connections[i].sends, rank, static_cast<ConnectionId>(i)});
    }
  }
  std::sort(known.begin(), known.end());
  std::size_t queues = 0;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    for (const ConnectionEnd& connection : engine(rank).connections()) {
      const KnownEnd wanted{connection.key, !connection.sends};
      const auto peer = std::lower_bound(known.begin(), known.end(), wanted);
      GRADHAUL_ASSERT(peer != known.end() && !(wanted < *peer), "a connection has two ends");
      End end;
      end.peer = peer->rank;
      end.peer_id = peer->id;
      end.slots_offset = connection.slots_offset;
      end.credits = connection.sends ? settings_.engine.slots : 0;
      end.first_queue = queues;
      state.ends.push_back(end);
      queues += 2;
    }
    state.first_reduce_queue = queues;
    queues += static_cast<std::size_t>(schedule_.channels());
    rank_of_queue_.resize(queues, rank);
  }
  queues_.resize(queues);
}

void SymbolicWorld::start() {
  delivering_ = true;
  for (RankState& state : ranks_) state.engine->start(*state.seam, *state.seam);
  delivering_ = false;
  if (unflushed_) violations_.add("a post was not flushed");
}

std::vector<std::size_t> SymbolicWorld::take_new() { return std::exchange(new_, {}); }

void SymbolicWorld::add(std::size_t queue, const Pending& pending) {
  queues_[queue].entries.push_back(pending);
  new_.push_back(queue);
}

void SymbolicWorld::check_post() {
  ++posts_;
  if (!delivering_) violations_.add("a post outside of a delivery");
}

void SymbolicWorld::on_write(Rank rank, const WriteRequest& request) {
  check_post();
  unflushed_ = true;
  End& end =
      ranks_[static_cast<std::size_t>(rank)].ends.at(static_cast<std::size_t>(request.connection));
  if (++end.in_flight > settings_.max_writes_in_flight) {
    violations_.add("more writes in flight than the transport takes");
  }
  if (request.kind == WriteKind::kData) {
    on_data(rank, request);
    return;
  }
  end.free -= request.slots_returned;
  if (request.slots_returned < 1 || end.free < 0) {
    violations_.add("a slot is returned that is not free");
  }
  Pending done;
  done.completion = {CompletionKind::kCreditDone, CompletionStatus::kOk, request.connection, 0};
  add(end.first_queue + 1, done);
  Pending arrived;
  arrived.completion = {CompletionKind::kCreditArrived, CompletionStatus::kOk, end.peer_id,
                        request.slots_returned};
  const RankState& peer = ranks_[static_cast<std::size_t>(end.peer)];
  add(peer.ends[static_cast<std::size_t>(end.peer_id)].first_queue + 1, arrived);
}

void SymbolicWorld::on_data(Rank rank, const WriteRequest& request) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  End& end = state.ends[static_cast<std::size_t>(request.connection)];
  RankState& peer = ranks_[static_cast<std::size_t>(end.peer)];
  const End& peer_end = peer.ends[static_cast<std::size_t>(end.peer_id)];
  const Bytes element = size_of(settings_.engine.datatype);
  if (--end.credits < 0) violations_.add("a write without a credit");
  const bool fits = request.length.count >= 1 && request.length.count % element.count == 0 &&
                    request.length <= settings_.engine.slot_size && request.slot >= 0 &&
                    request.slot < settings_.engine.slots;
  if (!fits) {
    violations_.add("a write that does not fit its slot");
    return;
  }
  Pending pending;
  pending.write = request;
  pending.write.slot +=
      static_cast<std::int32_t>(peer_end.slots_offset.count / settings_.engine.slot_size.count);
  peer.memory->begin_landing(
      pending.write.slot,
      state.memory->begin_write(request.source, request.length.count / element.count));
  pending.completion = {CompletionKind::kWriteDone, CompletionStatus::kOk, request.connection,
                        request.length.count};
  add(end.first_queue, pending);
  pending.completion = {CompletionKind::kWriteArrived, CompletionStatus::kOk, end.peer_id,
                        request.length.count};
  add(peer_end.first_queue, pending);
}

void SymbolicWorld::on_reduce(Rank rank, const ReduceRequest& request) {
  check_post();
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  state.memory->begin_operation(request);
  Pending pending;
  pending.operation = request;
  pending.completion = {CompletionKind::kReduceDone, CompletionStatus::kOk, request.stream, 0};
  add(state.first_reduce_queue + static_cast<std::size_t>(request.stream), pending);
}

void SymbolicWorld::deliver(std::size_t queue, CompletionStatus status) {
  Pending pending = queues_[queue].front();
  queues_[queue].drop_front();
  const Rank rank = rank_of_queue_[queue];
  settle(rank, pending);
  pending.completion.status = status;
  delivering_ = true;
  engine(rank).on_completion(pending.completion);
  delivering_ = false;
  if (unflushed_) violations_.add("a post was not flushed");
}

// What the world itself takes note of when a completion is delivered.
void SymbolicWorld::settle(Rank rank, const Pending& pending) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  const Completion& completion = pending.completion;
  if (completion.kind == CompletionKind::kReduceDone) {
    state.memory->end_operation(pending.operation);
    for (const BufferRef& operand : {pending.operation.left, pending.operation.right}) {
      if (operand.region != Region::kSlots) continue;
      const std::vector<ConnectionEnd>& connections = state.engine->connections();
      for (std::size_t i = 0; i < connections.size(); ++i) {
        const Bytes begin = connections[i].slots_offset;
        const Bytes end = begin + settings_.engine.slot_size * settings_.engine.slots;
        if (!connections[i].sends && operand.offset >= begin && operand.offset < end) {
          ++state.ends[i].free;
        }
      }
    }
    return;
  }
  End& end = state.ends[static_cast<std::size_t>(completion.id)];
  const Bytes element = size_of(settings_.engine.datatype);
  switch (completion.kind) {
    case CompletionKind::kWriteDone:
      --end.in_flight;
      state.memory->end_write(pending.write.source, pending.write.length.count / element.count);
      break;
    case CompletionKind::kWriteArrived:
      state.memory->end_landing(pending.write.slot);
      break;
    case CompletionKind::kCreditDone:
      --end.in_flight;
      break;
    case CompletionKind::kCreditArrived:
      end.credits += completion.amount;
      break;
    case CompletionKind::kReduceDone:
      break;
  }
}

bool SymbolicWorld::finished() const {
  for (const RankState& state : ranks_) {
    if (!state.engine->finished()) return false;
  }
  return true;
}

std::string SymbolicWorld::describe() const {
  std::ostringstream text;
  for (const RankState& state : ranks_) state.engine->describe(text);
  return text.str();
}

std::uint64_t SymbolicWorld::fingerprint() const {
  std::string text = describe();
  for (const Queue& queue : queues_) text += std::to_string(queue.size()) + ' ';
  for (const RankState& state : ranks_) text += std::to_string(state.memory->fingerprint()) + ' ';
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace gradhaul::oracle
