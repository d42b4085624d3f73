#pragma once

// Which task of a task graph may begin when, on each of its GPUs by itself (core/task_graph.h).
// A member is one task on one of its GPUs: members of a task follow each other in the order of its
// GPUs, those of task 0 come first.

#include <cstdint>
#include <vector>

#include "core/task_graph.h"

namespace gradhaul {

// The GPUs a task runs on: its communicator's, or its own.
const std::vector<int>& gpus_of(const TaskGraph& graph, const Task& task);

class TaskOrder {
 public:
  // The graph outlives it, and is checked: indices refer to what there is, `after` to lower ones.
  explicit TaskOrder(const TaskGraph& graph);

  struct Ready {
    int member = 0;
    std::int64_t time = 0;  // at which it begins
  };
  // Those that wait for nothing but a time.
  std::vector<Ready> first() const;
  // `member` is complete at `time`; appends those that may begin now, no earlier than that.
  void complete(int member, std::int64_t time, std::vector<Ready>& ready);

  int members() const { return static_cast<int>(members_.size()); }
  int incomplete() const { return incomplete_; }
  int first_member(int task) const { return first_members_[static_cast<std::size_t>(task)]; }
  int task(int member) const { return of(member).task; }
  int gpu(int member) const { return of(member).gpu; }
  // Its place among the GPUs of its task: a collective's rank.
  int place(int member) const { return member - first_member(task(member)); }
  // The member whose completion decided when this one began; -1: Task::at or Task::delay alone did.
  int decided_by(int member) const { return of(member).decided_by; }

 private:
  struct Waiting {
    int member = 0;
    bool delayed = false;  // by Task::delay
  };
  struct Member {
    int task = 0;
    int gpu = 0;
    int awaited = 0;
    std::int64_t after = 0;     // the latest of those after which the delay counts
    std::int64_t previous = 0;  // that of the communicator
    int last_after = -1;
    int last_previous = -1;
    int decided_by = -1;
    std::vector<Waiting> waiting;  // for this one
  };
  const Member& of(int member) const { return members_[static_cast<std::size_t>(member)]; }
  void await(int member, int awaited, bool delayed);
  Ready decide(int member);

  const TaskGraph& graph_;
  std::vector<int> first_members_;  // by task
  std::vector<Member> members_;
  int incomplete_ = 0;
};

}  // namespace gradhaul
