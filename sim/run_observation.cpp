#include "sim/run_observation.h"

#include <algorithm>
#include <utility>

namespace gradhaul {

// One rank's: which item a post belongs to is told just before the post.
class RunObservation::RankObservation final : public EngineObserver {
 public:
  RankObservation(RunObservation& all, Rank rank, const std::vector<ConnectionEnd>& ends)
      : all_(all), rank_(rank), ends_(ends) {
    held_since_.assign(ends.size(), -1);
    sent_.assign(ends.size(), 0);
    read_.assign(ends.size(), 0);
  }

  void on_send_held(const ObservedItem& /*item*/, ConnectionId connection) override {
    std::int64_t& since = held_since_[static_cast<std::size_t>(connection)];
    if (since < 0) since = all_.engine_.now();
  }
  void on_send(const ObservedItem& item, ConnectionId connection) override {
    const auto place = static_cast<std::size_t>(connection);
    const std::int64_t since = std::exchange(held_since_[place], -1);
    next_.place = all_.places_.place_of(rank_, item);
    next_.sequence = sent_[place]++;
    next_.posted = all_.engine_.now();
    next_.ready = since < 0 ? next_.posted : since;
  }
  void on_operation(const ObservedItem& item, ConnectionId receive) override {
    operation_ = {};
    operation_.rank = rank_;
    operation_.place = all_.places_.place_of(rank_, item);
    operation_.receives = receive >= 0;
    if (receive < 0) return;
    operation_.connection = ends_[static_cast<std::size_t>(receive)].key;
    operation_.sequence = read_[static_cast<std::size_t>(receive)]++;
  }

  const ObservedTransfer& next() const { return next_; }
  ObservedOperation& operation() { return operation_; }

 private:
  RunObservation& all_;
  Rank rank_;
  const std::vector<ConnectionEnd>& ends_;
  std::vector<std::int64_t> held_since_;  // by connection; -1: not held
  std::vector<std::int64_t> sent_;
  std::vector<std::int64_t> read_;
  ObservedTransfer next_;
  ObservedOperation operation_;
};

RunObservation::RunObservation(RunObserver& observer, RunLayout layout, const Schedule& schedule,
                               PacketEngine& engine)
    : observer_(observer), engine_(engine), places_(schedule) {
  ranks_.resize(layout.ranks.size());
  paused_since_.assign(layout.links.size(), -1);
  for (const ObservedLink& link : layout.links) watched_.push_back(observer.watches(link));
  observer.on_row(layout);
}

RunObservation::~RunObservation() = default;

EngineObserver& RunObservation::of(Rank rank, const std::vector<ConnectionEnd>& ends) {
  auto& observation = ranks_[static_cast<std::size_t>(rank)];
  observation = std::make_unique<RankObservation>(*this, rank, ends);
  return *observation;
}

void RunObservation::on_posted(Rank rank, std::int32_t message, const ConnectionKey& connection,
                               Bytes bytes) {
  if (static_cast<std::size_t>(message) >= transfers_.size()) {
    transfers_.resize(static_cast<std::size_t>(message) + 1);
  }
  Transfer& posted = transfer(message);
  posted = {ranks_[static_cast<std::size_t>(rank)]->next()};
  posted.seen.connection = connection;
  posted.seen.bytes = bytes;
  posted.seen.left = posted.seen.landing = posted.seen.landed = -1;
}

void RunObservation::on_left(std::int32_t message) {
  ObservedTransfer& seen = transfer(message).seen;
  if (seen.left < 0) seen.left = engine_.now();
}

void RunObservation::on_landed(std::int32_t message, std::int64_t delivered) {
  ObservedTransfer& seen = transfer(message).seen;
  if (seen.landing < 0) seen.landing = delivered;
  seen.landed = std::max(seen.landed, delivered);
}

void RunObservation::on_arrived(std::int32_t message) {
  transfer(message).arrived = true;
  transfer(message).seen.arrived = engine_.now();
  tell_when_over(message);
}

void RunObservation::on_done(std::int32_t message) {
  transfer(message).done = true;
  transfer(message).seen.done = engine_.now();
  tell_when_over(message);
}

void RunObservation::tell_when_over(std::int32_t message) {
  Transfer& over = transfer(message);
  if (!over.arrived || !over.done) return;
  // Where no link is in the way, it leaves as it is posted.
  if (over.seen.left < 0) over.seen.left = over.seen.posted;
  observer_.on_transfer(over.seen);
}

void RunObservation::on_operation(Rank rank, const ReduceRequest& request, Bytes bytes,
                                  std::int64_t start, std::int64_t end) {
  ObservedOperation& operation = ranks_[static_cast<std::size_t>(rank)]->operation();
  operation.reduces = request.kind == ReduceKind::kReduce;
  operation.bytes = bytes;
  operation.asked = engine_.now();
  operation.start = start;
  operation.end = end;
  observer_.on_operation(operation);
}

void RunObservation::end(bool finished) {
  for (std::size_t i = 0; i < paused_since_.size(); ++i) {
    if (paused_since_[i] >= 0) on_pause(static_cast<LinkId>(i), false, engine_.now());
  }
  observer_.on_row_end(engine_.now(), finished);
}

void RunObservation::on_arrival(LinkId link, std::int64_t wire, std::int64_t now) {
  if (!watches(link)) return;
  observer_.on_queued(link, now, {wire});
}

void RunObservation::on_start(const PacketStart& start) {
  if (!watches(start.link)) return;
  // What is decided ahead comes and goes without having been looked at.
  if (!start.queued && start.packet.ready < start.start) {
    observer_.on_queued(start.link, start.packet.ready, {start.wire});
  }
  if (start.queued || start.packet.ready < start.start) {
    observer_.on_queued(start.link, start.start, {-start.wire});
  }
  observer_.on_service({start.link, start.start, start.start + start.serialisation, {start.wire}});
}

void RunObservation::on_stall(LinkId link, std::int64_t since, std::int64_t until) {
  // Of a lossless link, it is the pause itself that is told of.
  if (!watches(link) || engine_.state(link).lossless) return;
  observer_.on_hold(link, HoldCause::kCredits, since, until);
}

void RunObservation::on_pause_frame(LinkId /*link*/, LinkId way, bool /*pause*/,
                                    std::int64_t /*now*/, std::int64_t start,
                                    std::int64_t serialisation) {
  if (!watches(way)) return;
  observer_.on_service({way, start, start + serialisation, {}});
}

void RunObservation::on_pause(LinkId link, bool paused, std::int64_t now) {
  if (!watches(link)) return;
  std::int64_t& since = paused_since_[static_cast<std::size_t>(link)];
  if (!paused && since >= 0) observer_.on_hold(link, HoldCause::kPaused, since, now);
  since = paused ? now : -1;
}

}  // namespace gradhaul
