#include "backends/spread/help_with_points.h"

#include <deque>
#include <optional>
#include <utility>

#include "backends/bootstrap/exchange_records.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;

constexpr std::chrono::milliseconds kStep = 100ms;

class PointHelp {
 public:
  PointHelp(RecordLink link, int jobs, PointWork work)
      : link_(std::move(link)), processes_(std::move(work), jobs) {}

  HelpReport run(const PointWorker& self, const std::atomic<bool>& interrupted) {
    link_.send(RecordKind::kReady, body_of(self));
    while (true) {
      if (interrupted) return {HelpEnd::kInterrupted, ""};
      try {
        while (const auto record = link_.next()) {
          if (auto end = take(*record)) return *end;
        }
      } catch (const WireError& error) {
        return {HelpEnd::kHostGone, std::string("rank 0 can't be understood: ") + error.what()};
      }
      if (link_.over()) return {HelpEnd::kHostGone, "rank 0 is gone"};
      begin();
      wait();
      answer();
    }
  }

 private:
  std::optional<HelpReport> take(const Record& record) {
    switch (record.kind) {
      case RecordKind::kPoint:
        asked_.push_back(point_record_in(record.body).point);
        return std::nullopt;
      case RecordKind::kOver:
        return HelpReport{HelpEnd::kOver, ""};
      case RecordKind::kRefused:
        return HelpReport{HelpEnd::kSentAway, text_in(record.body)};
      default:
        throw WireError("a record that has no place here");
    }
  }

  // Where the system has no room for a process, the point waits for a better moment.
  void begin() {
    while (!asked_.empty() && !processes_.full() && processes_.start(asked_.front())) {
      asked_.pop_front();
    }
  }

  void wait() {
    std::vector<pollfd> waiting;
    processes_.add_to(waiting);
    const auto events = static_cast<short>(POLLIN | (link_.has_unsent() ? POLLOUT : 0));
    waiting.push_back({link_.socket().descriptor(), events, 0});
    poll(waiting.data(), waiting.size(), static_cast<int>(kStep.count()));
    link_.push();
    link_.pull();
  }

  void answer() {
    for (const EndedPoint& ended : processes_.collect()) {
      const RecordKind kind = ended.answer ? RecordKind::kAnswer : RecordKind::kLost;
      link_.send(kind, body_of(PointRecord{ended.point, ended.answer.value_or(ended.end)}));
    }
  }

  RecordLink link_;
  PointProcesses processes_;
  std::deque<std::size_t> asked_;
};

}  // namespace

HelpReport help_with_points(RecordLink link, const PointWorker& self, PointWork work,
                            const std::atomic<bool>& interrupted) {
  return PointHelp(std::move(link), self.jobs, std::move(work)).run(self, interrupted);
}

}  // namespace gradhaul
