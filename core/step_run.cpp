#include "core/step_run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "core/assert.h"

namespace gradhaul {
namespace {

// Shares of the full speed, as parts of this.
constexpr std::int64_t kFullSpeed = 1 << 20;

struct RunningOperation {
  int operation = 0;
  Int128 left = 0;  // picoseconds at full speed, times kFullSpeed
  std::int64_t speed = kFullSpeed;
  Time start;
};

class StepRun {
 public:
  StepRun(const StepPlan& plan, const std::vector<TrafficTime>& times,
          const StepRunSettings& settings)
      : plan_(plan), times_(times), settings_(settings) {
    const std::size_t count = plan.operations.size();
    missing_.resize(count);
    followers_.resize(count);
    std::map<std::pair<int, StepLane>, int> last;
    for (std::size_t i = 0; i < count; ++i) {
      const StepOperation& operation = plan.operations[i];
      std::vector<int> before = operation.after;
      const auto [found, first] =
          last.try_emplace({operation.stage, operation.lane}, static_cast<int>(i));
      if (!first) before.push_back(std::exchange(found->second, static_cast<int>(i)));
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
      for (const int earlier : before) {
        GRADHAUL_ASSERT(earlier < static_cast<int>(i), "what is waited for is listed before");
        followers_[static_cast<std::size_t>(earlier)].push_back(static_cast<int>(i));
      }
      missing_[i] = static_cast<int>(before.size());
      if (missing_[i] == 0) ready_.push_back(static_cast<int>(i));
    }
  }

  std::vector<StepInterval> run() {
    std::size_t asked = 0;
    for (;;) {
      begin_ready();
      if (running_.empty()) break;
      set_speeds();
      advance();
      if (settings_.keep_going && done_ >= asked) {
        asked = done_ + 256;
        const double share =
            static_cast<double>(done_) / static_cast<double>(plan_.operations.size());
        if (!settings_.keep_going(share)) return {};
      }
    }
    GRADHAUL_ASSERT(done_ == plan_.operations.size(), "every operation comes to its turn");
    std::stable_sort(
        intervals_.begin(), intervals_.end(),
        [](const StepInterval& a, const StepInterval& b) { return a.start < b.start; });
    return std::move(intervals_);
  }

 private:
  const StepOperation& operation(int index) const {
    return plan_.operations[static_cast<std::size_t>(index)];
  }
  const TrafficTime& time_of(const StepOperation& sending) const {
    return times_[static_cast<std::size_t>(sending.traffic)];
  }

  void begin_ready() {
    while (!ready_.empty()) {
      const std::vector<int> now = std::exchange(ready_, {});
      for (const int index : now) {
        const StepOperation& next = operation(index);
        const Duration work = next.traffic < 0 ? next.work : time_of(next).alone;
        if (work.ps == 0) {
          finish(index, now_);
        } else {
          running_.push_back({index, Int128{work.ps} * kFullSpeed, kFullSpeed, now_});
        }
      }
    }
  }

  void finish(int index, Time start) {
    ++done_;
    const StepOperation& finished = operation(index);
    for (const int stage : stages_of(plan_, finished)) {
      const Rank rank = plan_.layout.rank_at(0, 0, stage);
      intervals_.push_back({index, rank, start - Time{}, now_ - Time{}});
    }
    for (const int follower : followers_[static_cast<std::size_t>(index)]) {
      if (--missing_[static_cast<std::size_t>(follower)] == 0) ready_.push_back(follower);
    }
  }

  void set_speeds() {
    std::vector<int> channels(plan_.stages.size());
    std::vector<RunningOperation*> sending;
    for (RunningOperation& running : running_) {
      const StepOperation& what = operation(running.operation);
      if (what.traffic < 0) continue;
      sending.push_back(&running);
      for (const int stage : stages_of(plan_, what)) {
        channels[static_cast<std::size_t>(stage)] += time_of(what).channels;
      }
    }
    share_resources(sending);
    const int processors = settings_.multiprocessors;
    if (processors == 0) return;
    for (RunningOperation& running : running_) {
      const StepOperation& what = operation(running.operation);
      if (what.traffic >= 0) continue;
      // One always goes on.
      const int left = std::max(processors - channels[static_cast<std::size_t>(what.stage)], 1);
      running.speed = kFullSpeed * left / processors;
    }
  }

  // Max-min fair: all speeds grow together until they are whole or a resource is.
  void share_resources(std::vector<RunningOperation*> growing) {
    std::map<int, double> room;  // of each resource, what those that no longer grow leave
    for (const RunningOperation* running : growing) {
      for (const auto& [resource, use] : time_of(operation(running->operation)).uses) {
        room.try_emplace(resource, 1.0);
      }
    }
    while (!growing.empty()) {
      double level = 1.0;
      std::map<int, double> demand;
      for (const RunningOperation* running : growing) {
        for (const auto& [resource, use] : time_of(operation(running->operation)).uses) {
          demand[resource] += use;
        }
      }
      for (const auto& [resource, wanted] : demand) {
        if (wanted * level > room[resource]) level = room[resource] / wanted;
      }
      const auto stops = [&](const RunningOperation* running) {
        if (level >= 1.0) return true;
        const auto& uses = time_of(operation(running->operation)).uses;
        return std::any_of(uses.begin(), uses.end(), [&](const auto& used) {
          return used.second > 0 && demand[used.first] * level >= room[used.first] * (1 - 1e-9);
        });
      };
      std::vector<RunningOperation*> left;
      std::vector<RunningOperation*> settled;
      for (RunningOperation* running : growing)
        (stops(running) ? settled : left).push_back(running);
      for (RunningOperation* running : settled) {
        running->speed = std::max<std::int64_t>(
            static_cast<std::int64_t>(level * static_cast<double>(kFullSpeed)), 1);
        for (const auto& [resource, use] : time_of(operation(running->operation)).uses) {
          room[resource] -= use * level;
        }
      }
      growing = std::move(left);
    }
  }

  void advance() {
    Int128 least = std::numeric_limits<std::int64_t>::max();
    for (const RunningOperation& running : running_) {
      least = std::min(least, (running.left + running.speed - 1) / running.speed);
    }
    now_ += Duration{static_cast<std::int64_t>(least)};
    std::vector<RunningOperation> finished;
    std::vector<RunningOperation> left;
    for (RunningOperation& running : running_) {
      running.left -= least * running.speed;
      (running.left <= 0 ? finished : left).push_back(running);
    }
    running_ = std::move(left);
    for (const RunningOperation& done : finished) finish(done.operation, done.start);
  }

  const StepPlan& plan_;
  const std::vector<TrafficTime>& times_;
  const StepRunSettings& settings_;
  Time now_;
  std::size_t done_ = 0;
  std::vector<int> missing_;  // of each operation: how many it still waits for
  std::vector<std::vector<int>> followers_;
  std::vector<int> ready_;
  std::vector<RunningOperation> running_;
  std::vector<StepInterval> intervals_;
};

}  // namespace

std::vector<int> stages_of(const StepPlan& plan, const StepOperation& operation) {
  if (operation.traffic < 0) return {operation.stage};
  const StepTraffic& traffic = plan.traffics[static_cast<std::size_t>(operation.traffic)];
  if (traffic.groups == GroupKind::kPipeline) return {traffic.stage, traffic.stage + 1};
  return {traffic.stage};
}

std::vector<StepInterval> run_step(const StepPlan& plan, const std::vector<TrafficTime>& times,
                                   const StepRunSettings& settings) {
  return StepRun(plan, times, settings).run();
}

}  // namespace gradhaul
