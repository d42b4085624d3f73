#include "backends/spread/spread_points.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kStep = 100ms;
// For what was said last to leave.
constexpr auto kFarewell = 2s;
// A rank may be hung, or its host be cut off without a word.
constexpr auto kPatience = 30s;

std::string name_of(Rank rank) { return "rank " + std::to_string(rank); }

}  // namespace

SpreadPoints::SpreadPoints(PointQueue& queue, PointWork work, RankReception* reception, int ranks,
                           PointSink& sink, const SpreadSettings& settings)
    : queue_(queue),
      own_(std::move(work), settings.jobs),
      reception_(reception),
      workers_(reception == nullptr ? 1 : static_cast<std::size_t>(ranks)),
      sink_(sink),
      settings_(settings) {}

bool SpreadPoints::run() {
  const Clock::time_point until = Clock::now() + settings_.join_deadline;
  while (!queue_.over()) {
    if (interrupted()) break;
    hand_out();
    wait();
    collect_own();
    sink_.on_step();
  }
  const bool finished = queue_.over();
  // Who comes now is to find that there is nothing left to do, rather than nobody.
  while (finished && reception_ != nullptr && !interrupted() && Clock::now() < until) {
    dismiss_all();
    if (reception_->missing().empty()) break;
    wait();
  }
  if (reception_ != nullptr) dismiss_all();
  return finished;
}

void SpreadPoints::hand_out() {
  start_own();
  if (reception_ == nullptr) return;
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    auto& link = reception_->link(static_cast<Rank>(i));
    while (link && worker.ready && static_cast<int>(worker.points.size()) < worker.jobs) {
      const auto point = queue_.take();
      if (!point) break;
      worker.points.push_back({*point, Clock::now()});
      link->send(RecordKind::kPoint, body_of(PointRecord{*point, ""}));
    }
  }
}

void SpreadPoints::start_own() {
  while (!own_.full()) {
    auto point = queue_.take();
    if (!point) point = overdue();
    if (!point) return;
    if (own_.start(*point)) continue;
    queue_.give_back(*point);
    const auto ready = [](const Worker& worker) { return worker.ready; };
    if (own_.empty() && std::none_of(workers_.begin(), workers_.end(), ready)) {
      throw std::runtime_error("no process can be started: the system has no room for one");
    }
    return;
  }
}

std::optional<std::size_t> SpreadPoints::overdue() {
  const Clock::time_point now = Clock::now();
  for (const Worker& worker : workers_) {
    for (const InHand& in_hand : worker.points) {
      if (now - in_hand.since < kPatience || queue_.is_settled(in_hand.point)) continue;
      if (repeated_.insert(in_hand.point).second) return in_hand.point;
    }
  }
  return std::nullopt;
}

void SpreadPoints::wait() {
  std::vector<pollfd> waiting;
  own_.add_to(waiting);
  if (reception_ != nullptr) reception_->add_to(waiting);
  for (std::size_t i = 1; reception_ != nullptr && i < workers_.size(); ++i) {
    const auto& link = reception_->link(static_cast<Rank>(i));
    if (!link) continue;
    const auto events = static_cast<short>(POLLIN | (link->has_unsent() ? POLLOUT : 0));
    waiting.push_back({link->socket().descriptor(), events, 0});
  }
  poll(waiting.data(), waiting.size(), static_cast<int>(std::chrono::milliseconds(kStep).count()));
  if (reception_ == nullptr) return;
  reception_->admit();
  for (std::size_t i = 1; i < workers_.size(); ++i) listen_to(static_cast<Rank>(i));
}

void SpreadPoints::listen_to(Rank rank) {
  auto& link = reception_->link(rank);
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  if (!link) return;
  if (worker.gone && link->over()) return;
  if (worker.gone) worker = Worker();  // it has joined again
  link->allow(kLongestRecord);
  link->push();
  link->pull();
  try {
    while (const auto record = link->next()) take(rank, *record);
  } catch (const WireError& error) {
    send_away(rank, std::string("what it says can't be understood: ") + error.what());
  }
  if (link->over()) lose(rank);
}

void SpreadPoints::take(Rank rank, const Record& record) {
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  if (worker.sent_away) return;
  if (record.kind == RecordKind::kReady) {
    const PointWorker ready = point_worker_in(record.body);
    if (!ready.problem.empty()) return send_away(rank, ready.problem);
    if (ready.likeness != settings_.likeness) {
      return send_away(rank,
                       "its gradhaul, scenario or axes are not those of rank 0: the same "
                       "version and the same files have to be on every host");
    }
    worker.ready = true;
    worker.jobs = ready.jobs;
    return;
  }
  const PointRecord ended = point_record_in(record.body);
  const auto asked = [&ended](const InHand& in_hand) { return in_hand.point == ended.point; };
  if (std::erase_if(worker.points, asked) == 0) throw WireError("it was not asked for that");
  if (record.kind == RecordKind::kAnswer) return answered(ended.point, ended.text);
  if (record.kind == RecordKind::kLost) return died(ended.point, ended.text);
  throw WireError("a record that has no place here");
}

void SpreadPoints::send_away(Rank rank, const std::string& why) {
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  worker.sent_away = true;
  worker.ready = false;
  reception_->link(rank)->send(RecordKind::kRefused, body_of_text(why));
  sink_.on_news(name_of(rank) + " does not take part: " + why);
}

void SpreadPoints::lose(Rank rank) {
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  // A rank that was sent away has nothing in hand, and was told of.
  if (!worker.sent_away && !queue_.over()) {
    const std::size_t points = worker.points.size();
    sink_.on_news(name_of(rank) + " is gone; what it had in hand, " + std::to_string(points) +
                  (points == 1 ? " point" : " points") + ", others compute");
  }
  for (const InHand& in_hand : worker.points) queue_.give_back(in_hand.point);
  worker.points.clear();
  worker.ready = false;
  // Its place stays taken, by a link that is over: it has come and is not missed.
  worker.gone = true;
}

void SpreadPoints::collect_own() {
  for (const EndedPoint& ended : own_.collect()) {
    if (ended.answer) {
      answered(ended.point, *ended.answer);
    } else {
      died(ended.point, ended.end);
    }
  }
}

void SpreadPoints::answered(std::size_t point, const std::string& answer) {
  if (queue_.settle(point)) sink_.on_answer(point, answer);
}

void SpreadPoints::died(std::size_t point, const std::string& end) {
  if (queue_.try_again(point)) return;
  if (queue_.settle(point)) sink_.on_lost(point, "its process " + end + ", twice");
}

void SpreadPoints::dismiss_all() {
  const Clock::time_point until = Clock::now() + kFarewell;
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    auto& link = reception_->link(static_cast<Rank>(i));
    if (!link || link->over()) continue;
    link->send(RecordKind::kOver, {});
    while (!link->over() && link->has_unsent() && Clock::now() < until) {
      wait_for(link->socket(), Waiting::kWrite, kStep);
      link->push();
    }
    link->close();
  }
}

}  // namespace gradhaul
