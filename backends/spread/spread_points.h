#pragma once

// Rank 0 of a sweep: has all points computed, by processes of its own and by other ranks, each
// once. Ranks may come late, and may go: the points that one has not answered are computed by
// others.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/bootstrap/rendezvous.h"
#include "backends/spread/point_processes.h"
#include "backends/spread/point_queue.h"
#include "backends/spread/spread_records.h"

namespace gradhaul {

// Told as it happens, on the caller's thread.
class PointSink {
 public:
  // The first answer to a point.
  virtual void on_answer(std::size_t point, const std::string& answer) = 0;
  // No answer to be had: "its process was ended by signal 9 (Killed), twice".
  virtual void on_lost(std::size_t point, const std::string& why) = 0;
  // What a user should know: a sentence.
  virtual void on_news(const std::string& sentence) = 0;
  // Some times a second.
  virtual void on_step() = 0;

 protected:
  ~PointSink() = default;
};

struct SpreadSettings {
  int jobs = 1;          // processes of this rank
  std::string likeness;  // of the ranks that may take part
  // Ranks that were launched and have not come by then are not waited for at the end.
  std::chrono::milliseconds join_deadline{30'000};
  const std::atomic<bool>* interrupted = nullptr;
};

class SpreadPoints {
 public:
  // `queue`: points that are known already are settled. `reception`: where other ranks join;
  // nothing: there are none. All of them, and the sink, outlive it.
  SpreadPoints(PointQueue& queue, PointWork work, RankReception* reception, int ranks,
               PointSink& sink, const SpreadSettings& settings);

  // Until every point is settled. False where it was interrupted. Throws std::runtime_error where
  // no process can be started and nobody else is there.
  bool run();

 private:
  using Clock = std::chrono::steady_clock;
  struct InHand {
    std::size_t point = 0;
    Clock::time_point since;
  };
  struct Worker {
    bool ready = false;
    bool sent_away = false;
    bool gone = false;
    int jobs = 0;
    std::vector<InHand> points;
  };
  bool interrupted() const { return settings_.interrupted != nullptr && *settings_.interrupted; }
  void hand_out();
  void start_own();
  std::optional<std::size_t> overdue();
  void wait();
  void listen_to(Rank rank);
  void take(Rank rank, const Record& record);
  void send_away(Rank rank, const std::string& why);
  void lose(Rank rank);
  void collect_own();
  void answered(std::size_t point, const std::string& answer);
  void died(std::size_t point, const std::string& end);
  void dismiss_all();

  PointQueue& queue_;
  PointProcesses own_;
  RankReception* reception_;
  std::vector<Worker> workers_;  // by rank; of rank 0 none
  std::set<std::size_t> repeated_;
  PointSink& sink_;
  SpreadSettings settings_;
};

}  // namespace gradhaul
