#pragma once

// What each rank does, as the Group Operation Assembly Language has it (T. Hoefler, C. Siebert,
// A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009; the input of LogGOPSim): messages
// of so many bytes sent and received, computations, and which of them waits for which. What the
// bytes are it does not say.

#include <cstdint>
#include <string>
#include <vector>

#include "core/communication.h"
#include "core/task_graph.h"

namespace gradhaul {

enum class GoalKind : std::uint8_t { kSend, kReceive, kCompute };

struct GoalOperation {
  GoalKind kind = GoalKind::kCompute;
  std::string label;
  Rank peer = 0;  // of a message
  Bytes bytes;
  int tag = 0;
  Duration work;                 // of a computation
  std::vector<int> after;        // of the same rank, by index: complete ("requires")
  std::vector<int> after_start;  // begun ("irequires")
  int line = 0;                  // of the file
};

struct GoalProgram {
  std::string name;
  std::string digest;                             // of the file
  std::vector<std::vector<GoalOperation>> ranks;  // by rank

  // Of the rank that sends most.
  Bytes bytes_sent_per_rank() const;
};

struct GoalProblem {
  int line = 0;
  std::string text;
};

// As a task graph, rank r on gpus[r]. The n-th send from a rank to another with a tag meets the
// n-th receive there; a message is a task of the two, which begins on each of them when what it
// waits for there is complete. Reports what does not meet, differs in size, or waits for itself.
TaskGraph goal_tasks(const GoalProgram& program, const std::vector<int>& gpus,
                     const Communication& communication, std::vector<GoalProblem>& problems);

}  // namespace gradhaul
