#include "tests/oracles/all_orders.h"

#include <algorithm>
#include <unordered_set>

namespace gradhaul::oracle {
namespace {

// Depth first. A world can't be copied, so going back means playing the choices again from the
// start.
class Explorer {
 public:
  Explorer(const Schedule& schedule, const CheckSettings& settings,
           const std::vector<CompletionKind>& eager)
      : schedule_(schedule), settings_(settings), eager_(eager) {}

  Exploration explore(std::int64_t most_states) {
    replay();
    visit();
    while (!open_.empty() && exploration_.violations.empty()) {
      if (exploration_.states >= most_states) {
        exploration_.complete = false;
        break;
      }
      std::vector<std::size_t>& choices = open_.back();
      if (choices.empty()) {
        open_.pop_back();
        if (!path_.empty()) path_.pop_back();
        stale_ = true;
        continue;
      }
      const std::size_t queue = choices.back();
      choices.pop_back();
      if (stale_) replay();
      path_.push_back(queue);
      step(queue);
      if (!visit()) {
        path_.pop_back();
        stale_ = true;
      }
    }
    return exploration_;
  }

 private:
  void replay() {
    world_ = std::make_unique<SymbolicWorld>(schedule_, settings_.world);
    world_->start();
    deliver_eagerly();
    for (const std::size_t queue : path_) step(queue);
    stale_ = false;
  }

  void step(std::size_t queue) {
    world_->deliver(queue);
    deliver_eagerly();
  }

  void deliver_eagerly() {
    if (eager_.empty()) return;
    bool delivered = true;
    while (delivered) {
      delivered = false;
      for (std::size_t queue = 0; queue < world_->queues(); ++queue) {
        while (world_->pending(queue) > 0 && is_eager(world_->kind(queue))) {
          world_->deliver(queue);
          delivered = true;
        }
      }
    }
  }

  bool is_eager(CompletionKind kind) const {
    return std::find(eager_.begin(), eager_.end(), kind) != eager_.end();
  }

  // Returns whether the state is a new one; if so, its choices are open.
  bool visit() {
    if (!seen_.insert(world_->fingerprint()).second) return false;
    ++exploration_.states;
    std::vector<std::size_t> choices;
    for (std::size_t queue = 0; queue < world_->queues(); ++queue) {
      if (world_->pending(queue) > 0) choices.push_back(queue);
    }
    if (choices.empty()) {
      ++exploration_.final_states;
      check_result(*world_, schedule_, settings_);
    }
    exploration_.violations = world_->violations().first();
    open_.push_back(std::move(choices));
    return true;
  }

  const Schedule& schedule_;
  const CheckSettings& settings_;
  const std::vector<CompletionKind>& eager_;
  Exploration exploration_;
  std::unique_ptr<SymbolicWorld> world_;
  std::vector<std::size_t> path_;
  std::vector<std::vector<std::size_t>> open_;  // choices not yet taken, at each step of the path
  std::unordered_set<std::uint64_t> seen_;
  bool stale_ = false;  // the world is not where the path leads
};

}  // namespace

Exploration explore_all_orders(const Schedule& schedule, const CheckSettings& settings,
                               const std::vector<CompletionKind>& eager, std::int64_t most_states) {
  return Explorer(schedule, settings, eager).explore(most_states);
}

}  // namespace gradhaul::oracle
