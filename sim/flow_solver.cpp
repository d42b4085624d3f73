// Flows on SimGrid 3.32. What has to be known:
//
//  - Model CM02 without cross traffic, latencies all 0 and so no TCP window: a flow gets its
//    max-min share of what it crosses, from the moment it starts. Latencies are those of
//    sim/flow_progress.h.
//  - Actors are many and their stacks small, without a guard behind them: what is ours runs on
//    SimGrid's own stack.
//  - A mailbox takes one pair of put and get, both by the conveyor's actor: from its host to its
//    host, over the route that the zone has for that. (Comm::sendto costs a search each time.)
//  - The clock is a double and never set back. So that a run does not depend on what ran before in
//    the process, it begins at 64 s or later: up to 128 s all dates are multiples of 2^-46 s, and
//    sums of them the same wherever they begin. Each date is then rounded to picoseconds.
//  - SimGrid merges events that are less than surf/precision apart (sim/simgrid_bridge.cpp).

#include "sim/flow_solver.h"

#include <algorithm>
#include <cmath>
#include <simgrid/s4u.hpp>
#include <simgrid/simix.hpp>

#include "sim/simgrid_bridge.h"

namespace gradhaul {
namespace {

namespace s4u = simgrid::s4u;

constexpr std::int64_t kEndsBetweenQuestions = 2000;
constexpr double kEarliest = 64;
constexpr double kGrid = 1.0 / (1 << 20);  // s
// A flow that nothing limits; its transfers take less than a picosecond.
constexpr double kNoLimit = 1e30;

double bandwidth(const FlowCapacity& capacity) {
  return std::min(capacity.units_per_second, kNoLimit);
}

class FlowRun {
 public:
  FlowRun(const FlowPlan& plan, const FlowPaths& paths, FlowProgress& progress,
          const std::function<bool()>& keep_going)
      : plan_(plan), progress_(progress), keep_going_(keep_going), lines_(plan.conveyors.size()) {
    renew_simgrid();
    const double now = std::max(s4u::Engine::get_clock(), kEarliest);
    base_ = std::ceil(now / kGrid) * kGrid;
    add_platform(paths);
  }

  bool run() {
    progress_.begin();
    start_all();
    s4u::Engine::get_instance()->run();
    GRADHAUL_ASSERT(given_up_ || progress_.complete(), "every transfer comes to its end");
    return !given_up_;
  }

 private:
  struct Line {
    s4u::Host* host = nullptr;
    bool has_actor = false;
    s4u::SemaphorePtr may_start;
    FlowStart start;
  };
  Line& line(std::int32_t conveyor) { return lines_[static_cast<std::size_t>(conveyor)]; }

  void add_platform(const FlowPaths& paths) {
    s4u::NetZone* zone = s4u::create_star_zone("flows");
    const auto add_link = [&](const std::string& name, const FlowCapacity& capacity) {
      s4u::Link* link = zone->create_link(name, bandwidth(capacity));
      link->set_latency(0)->seal();
      return link;
    };
    std::vector<s4u::Link*> shared;
    for (std::size_t i = 0; i < paths.shared.size(); ++i) {
      shared.push_back(add_link("shared" + std::to_string(i), paths.shared[i]));
    }
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string name = "conveyor" + std::to_string(i);
      s4u::Host* host = zone->create_host(name, 1e9);
      std::vector<s4u::LinkInRoute> route{s4u::LinkInRoute(add_link(name, paths.paths[i].alone))};
      for (const std::int32_t number : paths.paths[i].shared) {
        route.emplace_back(shared[static_cast<std::size_t>(number)]);
      }
      zone->add_route(host->get_netpoint(), host->get_netpoint(), nullptr, nullptr, route, false);
      lines_[i].host = host;
    }
    zone->seal();
  }

  double date(std::int64_t time) const { return base_ + static_cast<double>(time) * 1e-12; }

  // Before the run, and within it when a transfer has ended.
  void start_all() {
    for (const FlowStart& start : progress_.take_starts()) {
      Line& starting = line(start.conveyor);
      starting.start = start;
      if (starting.has_actor) {
        starting.may_start->release();
        continue;
      }
      starting.has_actor = true;
      starting.may_start = s4u::Semaphore::create(1);
      s4u::Actor::create("conveyor", starting.host,
                         [this, conveyor = start.conveyor] { carry(conveyor); });
    }
  }

  void carry(std::int32_t conveyor) {
    const std::int64_t transfers = plan_.conveyors[static_cast<std::size_t>(conveyor)].transfers;
    s4u::Mailbox* mailbox = s4u::Mailbox::by_name(std::to_string(conveyor));
    for (std::int64_t i = 0; i < transfers; ++i) {
      line(conveyor).may_start->acquire();
      const FlowStart start = line(conveyor).start;
      s4u::this_actor::sleep_until(date(start.time));
      int* received = nullptr;
      const s4u::CommPtr arriving = mailbox->get_async<int>(&received);
      const s4u::CommPtr leaving =
          mailbox->put_async(&token_, static_cast<std::uint64_t>(start.units));
      arriving->wait();
      leaving->wait();
      bool over = false;
      simgrid::kernel::actor::simcall_answered([&] { over = take_end(start); });
      if (over) {
        s4u::Actor::kill_all();
        return;
      }
    }
  }

  // Whether that was all.
  bool take_end(const FlowStart& ended) {
    const double elapsed = s4u::Engine::get_clock() - base_;
    progress_.on_end(ended.conveyor,
                     std::max<std::int64_t>(ended.time, std::llround(elapsed * 1e12)));
    start_all();
    if (++ends_ % kEndsBetweenQuestions == 0 && !keep_going_()) given_up_ = true;
    return given_up_ || progress_.complete();
  }

  const FlowPlan& plan_;
  FlowProgress& progress_;
  const std::function<bool()>& keep_going_;
  std::vector<Line> lines_;
  double base_ = 0;
  int token_ = 0;
  std::int64_t ends_ = 0;
  bool given_up_ = false;
};

}  // namespace

bool run_flows(const FlowPlan& plan, const FlowPaths& paths, FlowProgress& progress,
               const std::function<bool()>& keep_going) {
  if (plan.conveyors.empty()) return keep_going();
  return FlowRun(plan, paths, progress, keep_going).run();
}

}  // namespace gradhaul
