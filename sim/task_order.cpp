#include "sim/task_order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/assert.h"

namespace gradhaul {
namespace {

// Of each task, the member that runs on a GPU.
class MemberOfGpu {
 public:
  void add(int task, int gpu, int member) { members_[{task, gpu}] = member; }
  // -1: none.
  int find(int task, int gpu) const {
    const auto found = members_.find({task, gpu});
    return found == members_.end() ? -1 : found->second;
  }

 private:
  std::map<std::pair<int, int>, int> members_;
};

}  // namespace

const std::vector<int>& gpus_of(const TaskGraph& graph, const Task& task) {
  if (task.kind == TaskKind::kCompute) return task.gpus;
  return graph.communicators[static_cast<std::size_t>(task.communicator)].gpus;
}

TaskOrder::TaskOrder(const TaskGraph& graph) : graph_(graph) {
  MemberOfGpu of_gpu;
  std::vector<int> previous(graph.communicators.size(), -1);
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    const auto number = static_cast<int>(i);
    int* before = task.kind == TaskKind::kCollective
                      ? &previous[static_cast<std::size_t>(task.communicator)]
                      : nullptr;
    first_members_.push_back(members());
    for (const int gpu : gpus_of(graph, task)) {
      const int member = members();
      members_.emplace_back().task = number;
      members_.back().gpu = gpu;
      of_gpu.add(number, gpu, member);
      if (before != nullptr && *before >= 0) await(member, of_gpu.find(*before, gpu), false);
      for (const int after : task.after) {
        GRADHAUL_ASSERT(after >= 0 && after < number, "a task comes after tasks listed before it");
        const int awaited = of_gpu.find(after, gpu);
        if (awaited >= 0) await(member, awaited, true);
      }
    }
    if (before != nullptr) *before = number;
  }
  incomplete_ = members();
}

void TaskOrder::await(int member, int awaited, bool delayed) {
  members_[static_cast<std::size_t>(awaited)].waiting.push_back({member, delayed});
  ++members_[static_cast<std::size_t>(member)].awaited;
}

TaskOrder::Ready TaskOrder::decide(int member) {
  Member& decided = members_[static_cast<std::size_t>(member)];
  const Task& task = graph_.tasks[static_cast<std::size_t>(decided.task)];
  const std::int64_t delayed = decided.after + task.delay.ps;
  const std::int64_t time = std::max({task.at.ps, delayed, decided.previous});
  if (time == delayed && decided.last_after >= 0) {
    decided.decided_by = decided.last_after;
  } else if (time == decided.previous && decided.last_previous >= 0) {
    decided.decided_by = decided.last_previous;
  }
  return {member, time};
}

std::vector<TaskOrder::Ready> TaskOrder::first() const {
  std::vector<Ready> ready;
  for (int member = 0; member < members(); ++member) {
    if (of(member).awaited > 0) continue;
    const Task& task = graph_.tasks[static_cast<std::size_t>(of(member).task)];
    ready.push_back({member, std::max(task.at.ps, task.delay.ps)});
  }
  return ready;
}

void TaskOrder::complete(int member, std::int64_t time, std::vector<Ready>& ready) {
  --incomplete_;
  for (const Waiting& waiting : of(member).waiting) {
    Member& other = members_[static_cast<std::size_t>(waiting.member)];
    if (waiting.delayed) {
      other.after = time;  // completions come in the order of time
      other.last_after = member;
    } else {
      other.previous = time;
      other.last_previous = member;
    }
    if (--other.awaited == 0) ready.push_back(decide(waiting.member));
  }
}

}  // namespace gradhaul
