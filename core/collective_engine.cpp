#include "core/collective_engine.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/assert.h"
#include "core/engine_layout.h"
#include "core/engine_watch.h"
#include "core/item_cursor.h"
#include "core/lane.h"
#include "core/operation_request.h"
#include "core/repeated_growth.h"
#include "core/stall_table.h"

namespace gradhaul {

class CollectiveEngine::Implementation {
 public:
  Implementation(const Schedule& schedule, Rank rank, const EngineSettings& settings);

  const std::vector<ConnectionEnd>& connections() const { return state_.ends; }
  Bytes slots_bytes() const { return slots_bytes_; }
  void observe(EngineObserver& observer) { watch_.begin(observer); }
  void start(Transport& transport, Reducer& reducer);
  void on_completion(const Completion& completion);
  bool complete() const {
    return transport_ != nullptr && status_ == CompletionStatus::kOk && unfinished_lanes_ == 0;
  }
  bool finished() const { return complete() && unsettled_receivers_ == 0; }
  CompletionStatus status() const { return status_; }
  Bytes bytes_sent() const { return bytes_sent_; }
  double progress() const {
    return items_ == 0 ? 1 : static_cast<double>(finished_items_) / static_cast<double>(items_);
  }
  StallTable stall_table() const { return stall_table_of(state_, status_); }
  void append_state(std::vector<std::int64_t>& words) const;
  const EngineState& state() const { return state_; }
  EngineProgress progress_mark() const {
    return {places_of(state_), state_.connections, bytes_sent_, finished_items_};
  }
  void repeat(const EngineProgress& since, std::int64_t times);

 private:
  void on_reduce_done(int channel);
  void on_connection(const Completion& completion);
  void return_slots(ConnectionId id);
  void advance(Lane& lane);
  void advance_channel(Lane& lane);
  void advance_other_channels();
  bool settle(Lane& lane);
  void start_items(Lane& lane);
  bool may_start(Lane& lane);
  void post_operation(Lane& lane);
  void post_reduce(Lane& lane, const ReduceRequest& request, ConnectionId receive);
  void post_sends(Lane& lane);
  bool post_item_sends(Lane& lane);
  void finish_items(Lane& lane);
  bool finish_item(Lane& lane);

  const EngineSettings settings_;
  const OperationRequests requests_;
  const bool crosses_channels_;
  EngineState state_;
  const ItemLoader loader_;
  Bytes slots_bytes_;
  // By channel: the lanes of the posted operations, which complete in this order.
  std::vector<BoundedQueue<int>> reduce_orders_;

  Transport* transport_ = nullptr;
  Reducer* reducer_ = nullptr;
  EngineWatch watch_;
  TransportLimits limits_;
  bool staged_ = false;
  CompletionStatus status_ = CompletionStatus::kOk;
  Bytes bytes_sent_;
  std::int64_t items_ = 0;
  std::int64_t finished_items_ = 0;
  int unfinished_lanes_ = 0;
  int unsettled_receivers_ = 0;  // connections with a slot to return, or a return on its way
};

CollectiveEngine::Implementation::Implementation(const Schedule& schedule, Rank rank,
                                                 const EngineSettings& settings)
    : settings_(settings),
      requests_(settings, schedule.ranks()),
      crosses_channels_(schedule.crosses_channels()),
      state_{schedule, rank, schedule.lanes(), {}, {}, {}},
      loader_(schedule, rank, state_.ends) {
  GRADHAUL_ASSERT(rank >= 0 && rank < schedule.ranks(), "no such rank");
  GRADHAUL_ASSERT(schedule.lanes() <= kMaxLanes, "too many lanes");
  EngineLayout layout = lay_out(schedule, rank, settings.slots, settings.slot_size);
  state_.ends = std::move(layout.connections);
  slots_bytes_ = layout.slots_bytes;
  for (std::size_t i = 0; i < state_.ends.size(); ++i) {
    state_.connections.push_back({SendWindow(settings.slots), ReceiveWindow(settings.slots),
                                  layout.lane_of_connection[i], state_.ends[i].sends});
  }
  std::vector<std::size_t> limits(static_cast<std::size_t>(schedule.channels()), 0);
  for (const LaneLayout& lane : layout.lanes) {
    // As many as one sender can have waiting here: more would not keep the reducer any busier.
    const auto limit = static_cast<std::size_t>(settings.slots * std::max(1, lane.most_receives));
    state_.lanes.emplace_back(lane, limit);
    limits[static_cast<std::size_t>(lane.channel)] += limit;
    items_ += lane.items;
    if (lane.items > 0) ++unfinished_lanes_;
  }
  for (const std::size_t limit : limits) reduce_orders_.emplace_back(limit);
}

void CollectiveEngine::Implementation::start(Transport& transport, Reducer& reducer) {
  GRADHAUL_ASSERT(transport_ == nullptr, "a collective starts once");
  transport_ = &transport;
  reducer_ = &reducer;
  limits_ = transport.limits();
  GRADHAUL_ASSERT(limits_.max_writes_in_flight >= 1, "a transport takes at least one write");
  for (Lane& lane : state_.lanes) advance(lane);
  if (std::exchange(staged_, false)) transport_->flush();
}

void CollectiveEngine::Implementation::on_completion(const Completion& completion) {
  GRADHAUL_ASSERT(transport_ != nullptr, "completions come after the start");
  if (status_ != CompletionStatus::kOk) return;
  if (completion.status != CompletionStatus::kOk) {
    status_ = completion.status;
    return;
  }
  if (completion.kind == CompletionKind::kReduceDone) {
    on_reduce_done(completion.id);
  } else {
    on_connection(completion);
  }
  if (std::exchange(staged_, false)) transport_->flush();
}

void CollectiveEngine::Implementation::on_reduce_done(int channel) {
  GRADHAUL_ASSERT(channel >= 0 && channel < state_.schedule.channels(), "no such reduce stream");
  Lane& lane = state_.lane(channel, reduce_orders_[static_cast<std::size_t>(channel)].pop());
  const PostedOperation operation = lane.operations.pop();
  if (operation.receive >= 0) {
    ReceiveWindow& window = state_.connection(operation.receive).receiving;
    if (window.settled()) ++unsettled_receivers_;
    window.on_consumed();
    return_slots(operation.receive);
  }
  advance(lane);
}

void CollectiveEngine::Implementation::on_connection(const Completion& completion) {
  const ConnectionId id = completion.id;
  GRADHAUL_ASSERT(id >= 0 && static_cast<std::size_t>(id) < state_.connections.size(),
                  "no such connection");
  const bool at_sender = completion.kind == CompletionKind::kWriteDone ||
                         completion.kind == CompletionKind::kCreditArrived;
  Connection& connection = state_.connection(id);
  GRADHAUL_ASSERT(connection.sends == at_sender, "a completion belongs to one end of a connection");
  switch (completion.kind) {
    case CompletionKind::kWriteDone:
      connection.sending.on_written();
      break;
    case CompletionKind::kWriteArrived:
      connection.receiving.on_arrived(completion.amount);
      break;
    case CompletionKind::kCreditArrived:
      connection.sending.on_credits(completion.amount);
      break;
    case CompletionKind::kCreditDone:
      connection.receiving.on_credit_done();
      return_slots(id);
      if (connection.receiving.settled()) --unsettled_receivers_;
      return;  // no lane waits for it
    case CompletionKind::kReduceDone:
      GRADHAUL_ASSERT(false, "a reduction has no connection");
  }
  advance(state_.lanes[static_cast<std::size_t>(connection.lane)]);
}

void CollectiveEngine::Implementation::return_slots(ConnectionId id) {
  ReceiveWindow& window = state_.connection(id).receiving;
  if (window.due() == 0 || window.credit_writes_in_flight() >= limits_.max_writes_in_flight) return;
  WriteRequest request;
  request.connection = id;
  request.kind = WriteKind::kCredit;
  request.slots_returned = window.due();
  window.grant();
  transport_->post_write(request);
  staged_ = true;
}

// Level-triggered: posts whatever the guards of this lane allow, then of those that waited for it.
void CollectiveEngine::Implementation::advance(Lane& lane) {
  advance_channel(lane);
  if (crosses_channels_) advance_other_channels();
}

void CollectiveEngine::Implementation::advance_other_channels() {
  for (std::size_t i = 0; i < state_.lanes.size();) {
    const bool freed = state_.freed_by_other_channel(state_.lanes[i]);
    if (freed) advance_channel(state_.lanes[i]);
    i = freed ? 0 : i + 1;
  }
}

void CollectiveEngine::Implementation::advance_channel(Lane& lane) {
  std::uint64_t due = std::uint64_t{1} << lane.layout.number;
  while (due != 0) {
    Lane& next = state_.lane(lane.layout.channel, std::countr_zero(due));
    due &= due - 1;
    if (settle(next)) due |= state_.lanes_waiting_on(next);
  }
}

// Returns whether more items are finished than before.
bool CollectiveEngine::Implementation::settle(Lane& lane) {
  const std::int64_t before = lane.finish.index;
  bool again = true;
  while (again) {
    const std::int64_t finished = lane.finish.index;
    start_items(lane);
    post_sends(lane);
    finish_items(lane);
    again = lane.finish.index != finished && lane.waits_on == lane.layout.number &&
            lane.waits_in == lane.layout.channel;
  }
  finished_items_ += lane.finish.index - before;
  if (lane.finish.index != before && lane.finish.index == lane.layout.items) --unfinished_lanes_;
  return lane.finish.index != before;
}

void CollectiveEngine::Implementation::start_items(Lane& lane) {
  while (lane.start.index < lane.layout.items) {
    if (!lane.start.loaded) loader_.load(lane.layout, lane.start);
    if (!may_start(lane)) return;
    if (lane.start.item.operation != Operation::kNone) post_operation(lane);
    lane.start.advance();
  }
}

bool CollectiveEngine::Implementation::may_start(Lane& lane) {
  const ItemOperation& item = lane.start.item;
  lane.waits_on = lane.waits_in = -1;
  if (item.operation != Operation::kNone) {
    if (!lane.has_room_for(static_cast<std::size_t>(std::max(1, item.receive_count)))) return false;
    for (int i = 0; i < item.receive_count; ++i) {
      const ConnectionId id = lane.start.connections[static_cast<std::size_t>(i)];
      if (!state_.connection(id).receiving.has_arrival()) return false;
    }
  }
  if (state_.dependency_met(lane, item)) return true;
  lane.waits_on = item.after->lane;
  lane.waits_in = state_.channel_of(lane, *item.after);
  return false;
}

// Several receives are reduced one after the other, from the left.
void CollectiveEngine::Implementation::post_operation(Lane& lane) {
  const ItemOperation& item = lane.start.item;
  ReduceRequest request = requests_.of(item, lane.layout.channel);
  if (item.receive_count == 0) {
    post_reduce(lane, request, -1);
    return;
  }
  for (int i = 0; i < item.receive_count; ++i) {
    const ConnectionId id = lane.start.connections[static_cast<std::size_t>(i)];
    const Bytes length = requests_.element() * item.span.count;
    const std::int32_t slot = state_.connection(id).receiving.start(length.count);
    const Bytes slots = state_.end(id).slots_offset;
    requests_.take_in(request, item, i, {Region::kSlots, slots + settings_.slot_size * slot});
    post_reduce(lane, request, id);
  }
}

void CollectiveEngine::Implementation::post_reduce(Lane& lane, const ReduceRequest& request,
                                                   ConnectionId receive) {
  lane.operations.push({lane.start.index, receive});
  reduce_orders_[static_cast<std::size_t>(request.stream)].push(lane.layout.number);
  watch_.operation(lane, receive);
  reducer_->post_reduce(request);
}

void CollectiveEngine::Implementation::post_sends(Lane& lane) {
  const std::int64_t ready = lane.operated();
  if (lane.layout.sends.empty()) {
    lane.send.index = ready;
    return;
  }
  while (lane.send.index < ready) {
    if (!lane.send.loaded) loader_.load(lane.layout, lane.send);
    if (!post_item_sends(lane)) return;
    lane.send.advance();
    lane.posted_sends = 0;
  }
}

// Returns whether all of them are posted. One peer without a free slot does not hold up the others.
bool CollectiveEngine::Implementation::post_item_sends(Lane& lane) {
  bool all = true;
  for (int i = 0; i < lane.send.send_count; ++i) {
    if ((lane.posted_sends >> i & 1U) != 0) continue;
    const ConnectionId id = lane.send.connections[static_cast<std::size_t>(i)];
    SendWindow& window = state_.connection(id).sending;
    watch_.send(state_, lane, i, limits_);
    if (!window.has_credit() || window.in_flight() >= limits_.max_writes_in_flight) {
      all = false;
      continue;
    }
    const ItemSend& send = lane.send.sends[static_cast<std::size_t>(i)];
    WriteRequest request;
    request.connection = id;
    request.source = {send.source, requests_.element() * send.span.first};
    request.length = requests_.element() * send.span.count;
    GRADHAUL_ASSERT(request.length <= settings_.slot_size && request.length <= limits_.max_write,
                    "a slice fits its slot and one write");
    request.slot = window.post();
    lane.posted_sends |= 1U << i;
    bytes_sent_ += request.length;
    transport_->post_write(request);
    staged_ = true;
  }
  return all;
}

void CollectiveEngine::Implementation::finish_items(Lane& lane) {
  if (lane.layout.sends.empty()) {
    lane.finish.index = lane.send.index;
    return;
  }
  while (lane.finish.index < lane.send.index && finish_item(lane)) lane.finish.advance();
}

bool CollectiveEngine::Implementation::finish_item(Lane& lane) {
  if (!lane.finish.loaded) loader_.load(lane.layout, lane.finish);
  const int sends = lane.finish.send_count;
  for (int i = 0; i < sends; ++i) {
    const ConnectionId id = lane.finish.connections[static_cast<std::size_t>(i)];
    if (!state_.connection(id).sending.can_settle()) return false;
  }
  for (int i = 0; i < sends; ++i) {
    state_.connection(lane.finish.connections[static_cast<std::size_t>(i)]).sending.settle();
  }
  return true;
}

void CollectiveEngine::Implementation::append_state(std::vector<std::int64_t>& words) const {
  words.insert(words.end(),
               {static_cast<std::int64_t>(status_), unfinished_lanes_, unsettled_receivers_});
  gradhaul::append_state(state_, words);
  for (const BoundedQueue<int>& order : reduce_orders_) {
    for (std::size_t i = 0; i < order.size(); ++i) words.push_back(order.at(i));
  }
}

void CollectiveEngine::Implementation::repeat(const EngineProgress& since, std::int64_t times) {
  gradhaul::repeat(state_, since, times);
  grow_again(bytes_sent_, since.bytes_sent, times);
  grow_again(finished_items_, since.finished_items, times);
}

CollectiveEngine::CollectiveEngine(const Schedule& schedule, Rank rank,
                                   const EngineSettings& settings)
    : implementation_(std::make_unique<Implementation>(schedule, rank, settings)) {}
CollectiveEngine::~CollectiveEngine() = default;

const std::vector<ConnectionEnd>& CollectiveEngine::connections() const {
  return implementation_->connections();
}
Bytes CollectiveEngine::slots_bytes() const { return implementation_->slots_bytes(); }
void CollectiveEngine::observe(EngineObserver& observer) { implementation_->observe(observer); }
void CollectiveEngine::start(Transport& transport, Reducer& reducer) {
  implementation_->start(transport, reducer);
}
void CollectiveEngine::on_completion(const Completion& completion) {
  implementation_->on_completion(completion);
}
bool CollectiveEngine::complete() const { return implementation_->complete(); }
bool CollectiveEngine::finished() const { return implementation_->finished(); }
CompletionStatus CollectiveEngine::status() const { return implementation_->status(); }
Bytes CollectiveEngine::bytes_sent() const { return implementation_->bytes_sent(); }
double CollectiveEngine::progress() const { return implementation_->progress(); }
void CollectiveEngine::describe(std::ostream& out) const {
  print_stall_table(implementation_->stall_table(), out);
}
void CollectiveEngine::append_state(std::vector<std::int64_t>& words) const {
  implementation_->append_state(words);
}
const EngineState& CollectiveEngine::state() const { return implementation_->state(); }
EngineProgress CollectiveEngine::progress_mark() const { return implementation_->progress_mark(); }
void CollectiveEngine::repeat(const EngineProgress& since, std::int64_t times) {
  implementation_->repeat(since, times);
}

}  // namespace gradhaul
