// Of goal_program.h: a program as tasks.

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "core/goal_program.h"

namespace gradhaul {
namespace {

constexpr std::size_t kMostProblems = 10;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// An operation by its rank and its index there.
struct Place {
  Rank rank = 0;
  int operation = 0;
};

// A message or a computation: with the operations at its ends, and what is waited for at each.
struct Node {
  Place sends;  // or computes
  Place receives{-1, 0};
  bool is_message() const { return receives.rank >= 0; }
  bool runs_on(Rank rank) const { return sends.rank == rank || receives.rank == rank; }
};

class GoalTasks {
 public:
  GoalTasks(const GoalProgram& program, const std::vector<int>& gpus,
            const Communication& communication, std::vector<GoalProblem>& problems)
      : program_(program), gpus_(gpus), communication_(communication), problems_(problems) {}

  TaskGraph make() {
    match();
    if (problems_.empty()) find_waits();
    if (problems_.empty()) add_all();
    return std::move(graph_);
  }

 private:
  const GoalOperation& at(Place place) const {
    return program_.ranks[index(place.rank)][index(place.operation)];
  }
  std::string name(Place place) const {
    return "rank " + std::to_string(place.rank) + ", " + at(place).label;
  }
  void problem(Place place, const std::string& text) {
    if (problems_.size() < kMostProblems) problems_.push_back({at(place).line, text});
  }

  // Sends with receives.
  void match() {
    std::map<std::tuple<Rank, Rank, int>, std::queue<Place>> receives;
    for (const Place place : all(GoalKind::kReceive)) {
      receives[{at(place).peer, place.rank, at(place).tag}].push(place);
    }
    node_of_.resize(program_.ranks.size());
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank) {
      node_of_[rank].assign(program_.ranks[rank].size(), -1);
    }
    for (const Place place : all(GoalKind::kCompute)) add_node({place});
    for (const Place place : all(GoalKind::kSend)) {
      std::queue<Place>& waiting = receives[{place.rank, at(place).peer, at(place).tag}];
      if (waiting.empty()) {
        problem(place, "rank " + std::to_string(at(place).peer) + " has no receive for it");
        continue;
      }
      const Place receive = waiting.front();
      waiting.pop();
      if (at(receive).bytes != at(place).bytes) {
        problem(place, std::to_string(at(place).bytes.count) + " bytes, and " + name(receive) +
                           " receives " + std::to_string(at(receive).bytes.count));
      }
      add_node({place, receive});
    }
    for (auto& [connection, left] : receives) {
      if (!left.empty()) {
        problem(left.front(), "rank " + std::to_string(std::get<0>(connection)) +
                                  " sends nothing that it could receive");
      }
    }
  }

  std::vector<Place> all(GoalKind kind) const {
    std::vector<Place> places;
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < program_.ranks[rank].size(); ++i) {
        if (program_.ranks[rank][i].kind != kind) continue;
        places.push_back({static_cast<Rank>(rank), static_cast<int>(i)});
      }
    }
    return places;
  }

  void add_node(Node node) {
    const auto number = static_cast<int>(nodes_.size());
    for (const Place place : {node.sends, node.receives}) {
      if (place.rank >= 0) node_of_[index(place.rank)][index(place.operation)] = number;
    }
    nodes_.push_back(node);
  }

  // What an operation waits for on its rank. What has to have begun has, once all that it waits for
  // itself is complete.
  std::vector<int> waits_of(Place place) {
    std::vector<int> waits;
    std::vector<int> open{place.operation};
    std::vector<bool> seen(program_.ranks[index(place.rank)].size(), false);
    while (!open.empty()) {
      const GoalOperation& operation = at({place.rank, open.back()});
      open.pop_back();
      for (const int before : operation.after) {
        waits.push_back(node_of_[index(place.rank)][index(before)]);
      }
      for (const int begun : operation.after_start) {
        if (seen[index(begun)]) continue;
        seen[index(begun)] = true;
        open.push_back(begun);
      }
    }
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    return waits;
  }

  void find_waits() {
    for (const Node& node : nodes_) {
      sender_waits_.push_back(waits_of(node.sends));
      receiver_waits_.push_back(node.is_message() ? waits_of(node.receives) : std::vector<int>{});
    }
  }

  // In an order in which each comes after what it waits for, else by number.
  void add_all() {
    std::vector<std::vector<int>> followers(nodes_.size());
    std::vector<int> open(nodes_.size(), 0);
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      for (const std::vector<int>* waits : {&sender_waits_[node], &receiver_waits_[node]}) {
        for (const int before : *waits) followers[index(before)].push_back(static_cast<int>(node));
        open[node] += static_cast<int>(waits->size());
      }
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (open[node] == 0) ready.push(static_cast<int>(node));
    }
    task_of_.assign(nodes_.size(), -1);
    while (!ready.empty()) {
      const int node = ready.top();
      ready.pop();
      add_task(node);
      for (const int next : followers[index(node)]) {
        if (--open[index(next)] == 0) ready.push(next);
      }
    }
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (open[node] == 0) continue;
      problem(nodes_[node].sends, name(nodes_[node].sends) +
                                      " and others wait for each other, unless messages are kept "
                                      "somewhere until they are received");
      return;
    }
  }

  void add_task(int number) {
    const Node& node = nodes_[index(number)];
    const GoalOperation& operation = at(node.sends);
    Task task;
    task.name = name(node.sends);
    task.after = tasks_of(sender_waits_[index(number)]);
    if (node.is_message()) {
      wait_apart(sender_waits_[index(number)], node.sends.rank, node.receives.rank, task.after);
      std::vector<int> of_receiver = tasks_of(receiver_waits_[index(number)]);
      wait_apart(receiver_waits_[index(number)], node.receives.rank, node.sends.rank, of_receiver);
      task.after.insert(task.after.end(), of_receiver.begin(), of_receiver.end());
      std::sort(task.after.begin(), task.after.end());
      task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
      describe_message(node, operation.bytes, task);
    } else {
      task.kind = TaskKind::kCompute;
      task.gpus = {gpus_[index(node.sends.rank)]};
      task.work = operation.work;
    }
    task_of_[index(number)] = static_cast<int>(graph_.tasks.size());
    graph_.tasks.push_back(std::move(task));
  }

  void describe_message(const Node& node, Bytes bytes, Task& task) {
    task.collective = Collective::kBroadcast;
    task.launches = false;
    // A message of nothing has one byte, for what it does is to arrive.
    task.size = {std::max<std::int64_t>(1, bytes.count)};
    task.datatype = task.size.count % 4 == 0   ? DataType::kFp32
                    : task.size.count % 2 == 0 ? DataType::kBf16
                                               : DataType::kInt8;
    task.communicator = static_cast<int>(graph_.communicators.size());
    graph_.communicators.push_back(
        {task.name,
         {gpus_[index(node.sends.rank)], gpus_[index(node.receives.rank)]},
         of_messages()});
  }

  // From one to the other, whatever collectives are done by.
  Communication of_messages() const {
    Communication communication = communication_;
    communication.algorithm = Algorithm::kRing;
    communication.listed = nullptr;
    communication.choose_algorithm = communication.choose_protocol = false;
    communication.ring_order = RingOrder::kBalanced;
    communication.listed_rings.clear();
    return communication;
  }

  std::vector<int> tasks_of(const std::vector<int>& nodes) const {
    std::vector<int> tasks;
    for (const int node : nodes) tasks.push_back(task_of_[index(node)]);
    return tasks;
  }

  // A task waits on each GPU for what runs there. Where something that `rank` waits for runs on the
  // other rank of the message too, which does not wait for it, a task of no time on `rank` alone
  // waits in its place.
  void wait_apart(const std::vector<int>& waits, Rank rank, Rank other, std::vector<int>& after) {
    const bool runs_there = std::any_of(
        waits.begin(), waits.end(), [&](int node) { return nodes_[index(node)].runs_on(other); });
    if (!runs_there) return;
    Task gate;
    gate.name = "rank " + std::to_string(rank) + ", waiting";
    gate.kind = TaskKind::kCompute;
    gate.gpus = {gpus_[index(rank)]};
    gate.after = std::move(after);
    std::sort(gate.after.begin(), gate.after.end());
    after = {static_cast<int>(graph_.tasks.size())};
    graph_.tasks.push_back(std::move(gate));
  }

  const GoalProgram& program_;
  const std::vector<int>& gpus_;
  const Communication& communication_;
  std::vector<GoalProblem>& problems_;
  std::vector<Node> nodes_;
  std::vector<std::vector<int>> node_of_;  // by rank and operation
  std::vector<std::vector<int>> sender_waits_;
  std::vector<std::vector<int>> receiver_waits_;
  std::vector<int> task_of_;
  TaskGraph graph_;
};

}  // namespace

Bytes GoalProgram::bytes_sent_per_rank() const {
  Bytes most;
  for (const std::vector<GoalOperation>& rank : ranks) {
    Bytes sent;
    for (const GoalOperation& operation : rank) {
      if (operation.kind == GoalKind::kSend) sent += operation.bytes;
    }
    most = std::max(most, sent);
  }
  return most;
}

TaskGraph goal_tasks(const GoalProgram& program, const std::vector<int>& gpus,
                     const Communication& communication, std::vector<GoalProblem>& problems) {
  return GoalTasks(program, gpus, communication, problems).make();
}

}  // namespace gradhaul
