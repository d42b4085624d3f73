// The packet engine as a kernel::resource::Model of SimGrid 3.32, through public headers, as
// SimGrid's own ns-3 bridge does it. What has to be known:
//
//  - next_occurring_event_is_idempotent() is false; the argument of next_occurring_event() is then
//    the greatest step allowed (negative: unbounded), and what it returns is the step taken.
//  - SimGrid's clock is a double. The packet clock is integer picoseconds, never a sum of steps;
//    whether an event is due is compared in doubles with two units in the last place of slack,
//    since past some 2000 s one unit is more than half a picosecond.
//  - There is one engine at a time in a process. A world has one of its own, and counts from the
//    clock at its beginning, which goes on from engine to engine.
//  - Rates and failures of packet links are the packet engine's own: SimGrid's profiles overshoot
//    with a model like this one.
//  - SimGrid ends every actor by an exception on that actor's stack. AddressSanitizer knows the
//    stacks of threads alone, and says so on standard error: its builds have a thread for each
//    actor, one running at a time, where all others switch stacks.

#include "sim/simgrid_bridge.h"

#include <cmath>
#include <exception>
#include <memory>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/simix.hpp>
#include <string>
#include <vector>

namespace gradhaul {
namespace {

namespace s4u = simgrid::s4u;

constexpr std::int64_t kEventsBetweenQuestions = 200'000;
constexpr double kSlack = 1 + 4.5e-16;
#ifdef __SANITIZE_ADDRESS__
constexpr char kContexts[] = "thread";
#else
constexpr char kContexts[] = "raw";
#endif

class PacketModel final : public simgrid::kernel::resource::Model {
 public:
  PacketModel() : Model("gradhaul packets") {}

  void attach(PacketWorld* world, const std::function<bool()>* keep_going) {
    world_ = world;
    keep_going_ = keep_going;
    base_ = s4u::Engine::get_clock();
    given_up_ = false;
    failure_ = nullptr;
    waiting_.assign(world != nullptr ? static_cast<std::size_t>(world->ranks()) : 0, nullptr);
    pending_.clear();
  }
  void wait_for(Rank rank, s4u::SemaphorePtr semaphore) {
    waiting_[static_cast<std::size_t>(rank)] = std::move(semaphore);
  }
  std::int64_t packet_time() const {
    return std::max<std::int64_t>(world_->now(),
                                  std::llround((s4u::Engine::get_clock() - base_) * 1e12));
  }
  bool given_up() const { return given_up_; }
  std::exception_ptr failure() const { return failure_; }

  bool next_occurring_event_is_idempotent() override { return false; }

  double next_occurring_event(double greatest_step) override {
    if (world_ == nullptr || given_up_ || failure_) return -1;
    if (pending_.empty()) step(greatest_step);
    if (given_up_) return 0;
    if (pending_.empty()) return greatest_step;
    const double at = base_ + static_cast<double>(world_->now()) * 1e-12;
    const double step = std::max(0.0, at - s4u::Engine::get_clock());
    return greatest_step >= 0 && step > greatest_step ? greatest_step : step;
  }

  void update_actions_state(double now, double /*delta*/) override {
    if (world_ == nullptr) return;
    if (given_up_ || failure_) {
      // Everybody goes home.
      for (s4u::SemaphorePtr& semaphore : waiting_) {
        if (semaphore) semaphore->release();
        semaphore = nullptr;
      }
      return;
    }
    if (pending_.empty()) return;
    if (base_ + static_cast<double>(world_->now()) * 1e-12 > now * kSlack) return;
    for (const Rank rank : pending_) {
      s4u::SemaphorePtr& semaphore = waiting_[static_cast<std::size_t>(rank)];
      if (semaphore) semaphore->release();
      semaphore = nullptr;
    }
    pending_.clear();
  }

 private:
  // Runs packets until a rank completes, or as far as SimGrid allows.
  void step(double greatest_step) {
    if (world_->complete()) return;
    std::int64_t limit = INT64_MAX - 1;
    if (greatest_step >= 0) {
      limit = std::llround((s4u::Engine::get_clock() - base_ + greatest_step) * 1e12);
    }
    try {
      while (pending_.empty()) {
        const PacketEngine::Pause pause = world_->run(limit, kEventsBetweenQuestions);
        pending_ = world_->take_completed();
        if (pause == PacketEngine::Pause::kLimit) return;
        if (pause == PacketEngine::Pause::kIdle && pending_.empty()) {
          if (greatest_step >= 0) return;
          world_->report_stall();
        }
        if (!(*keep_going_)()) {
          given_up_ = true;
          return;
        }
      }
    } catch (...) {
      failure_ = std::current_exception();
      given_up_ = true;
    }
  }

  PacketWorld* world_ = nullptr;
  const std::function<bool()>* keep_going_ = nullptr;
  double base_ = 0;
  bool given_up_ = false;
  std::exception_ptr failure_;
  std::vector<s4u::SemaphorePtr> waiting_;
  std::vector<Rank> pending_;
};

struct Platform {
  s4u::Host* host = nullptr;
  std::shared_ptr<PacketModel> model;
};

Platform make_platform() {
  renew_simgrid();
  Platform fresh;
  s4u::NetZone* zone = s4u::create_star_zone("cluster");
  fresh.host = zone->create_host("ranks", 1e9);
  zone->seal();
  fresh.model = std::make_shared<PacketModel>();
  s4u::Engine::get_instance()->add_model(fresh.model);
  return fresh;
}

void rank_program(PacketModel& model, PacketWorld& world, Rank rank) {
  const s4u::SemaphorePtr done = s4u::Semaphore::create(0);
  simgrid::kernel::actor::simcall_answered([&] {
    model.wait_for(rank, done);
    world.start_rank(rank, model.packet_time());
  });
  done->acquire();
}

}  // namespace

void renew_simgrid() {
  static s4u::Engine* engine = nullptr;  // the last one outlives all else
  static std::vector<std::string> settings = {
      "gradhaul", "--log=root.thresh:critical", "--cfg=contexts/factory:" + std::string(kContexts),
      "--cfg=contexts/stack-size:16",  // KiB; there may be an actor for each pair of ranks
      "--cfg=contexts/guard-size:0",
      // Of fluid flows: see sim/flow_solver.cpp.
      "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0",
      "--cfg=surf/precision:1e-13",    // s
      "--cfg=maxmin/precision:1e-12",  // of a capacity
  };
  // The first engine takes the settings, for all that follow.
  std::vector<char*> arguments;
  for (std::string& setting : settings) arguments.push_back(setting.data());
  auto count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  delete engine;
  engine = new s4u::Engine(&count, arguments.data());
  settings.resize(1);
}

bool run_under_simgrid(PacketWorld& world, const std::function<bool()>& keep_going) {
  const Platform on = make_platform();
  PacketModel& model = *on.model;
  model.attach(&world, &keep_going);
  for (Rank rank = 0; rank < world.ranks(); ++rank) {
    s4u::Actor::create("rank" + std::to_string(rank), on.host,
                       [&model, &world, rank] { rank_program(model, world, rank); });
  }
  s4u::Engine::get_instance()->run();
  const bool finished = !model.given_up();
  const std::exception_ptr failure = model.failure();
  model.attach(nullptr, nullptr);
  if (failure) std::rethrow_exception(failure);
  return finished;
}

}  // namespace gradhaul
