// Algorithms and programs that are listed in files, over links of 50 GB/s and 1 us where nothing
// else costs anything: their times are closed forms.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/goal_program.h"
#include "core/listed_program.h"
#include "sim/predict.h"
#include "tests/core/listed_examples.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr double kAlpha = 1;
constexpr double kBytesPerUs = 50e3;

PredictionRequest listed(const ListedAlgorithm& algorithm, Bytes size, Bytes slot) {
  std::vector<ListedProblem> problems;
  PredictionRequest request =
      request_for(ideal_cluster(static_cast<int>(algorithm.ranks.size())), size);
  request.workload.collective = algorithm.collective;
  request.communication.algorithm = Algorithm::kListed;
  request.communication.listed = listed_program(algorithm, problems);
  request.communication.channels = algorithm.channels;
  request.communication.slot_size = slot;
  return request;
}

double us_of(const PredictionRequest& request) {
  return predict(request).rows.at(0).time.microseconds();
}

// 2 (n - 1) steps of a whole chunk, as the ring that is built in.
TEST(ListedTimes, OfARingAreThoseOfTheRing) {
  for (const int n : {2, 5}) {
    const Bytes size = 100'000_B * n;
    PredictionRequest request = listed(gradhaul::listed::ring_all_reduce(n, 1), size, size);
    const double expected = 2 * (n - 1) * (kAlpha + 100'000 / kBytesPerUs);
    EXPECT_NEAR(us_of(request), expected, 1e-3);
    request.communication.algorithm = Algorithm::kRing;
    request.communication.listed = nullptr;
    EXPECT_NEAR(us_of(request), expected, 1e-3);
  }
}

// Each NIC sends n - 1 chunks and receives as many, twice; all at once, however they are sliced.
TEST(ListedTimes, OfAllPairsAreTwoExchanges) {
  for (const int n : {2, 4, 8}) {
    const double expected = 2 * (kAlpha + (n - 1) * 80'000 / kBytesPerUs);
    for (const int adder : {0, 1}) {
      const auto request = listed(gradhaul::listed::all_pairs(n, adder), 80'000_B * n, 80'000_B);
      EXPECT_NEAR(us_of(request), expected, 1e-2) << n;
    }
  }
}

TEST(ListedTimes, AreTheSameSkippedAndInFull) {
  for (const int adder : {0, 1}) {
    const auto request = listed(gradhaul::listed::all_pairs(4, adder), 16_MiB, 16_KiB);
    expect_same(predict(request), in_full(request));
  }
  const auto ring = listed(gradhaul::listed::ring_all_reduce(4, 2), 16_MiB, 16_KiB);
  expect_same(predict(ring), in_full(ring));
}

GoalOperation operation(GoalKind kind, Rank peer, std::int64_t bytes, std::vector<int> after) {
  GoalOperation operation;
  operation.kind = kind;
  operation.peer = peer;
  operation.bytes = {bytes};
  operation.after = std::move(after);
  return operation;
}
GoalOperation send(Rank to, std::int64_t bytes, std::vector<int> after = {}) {
  return operation(GoalKind::kSend, to, bytes, std::move(after));
}
GoalOperation receive(Rank from, std::int64_t bytes, std::vector<int> after = {}) {
  return operation(GoalKind::kReceive, from, bytes, std::move(after));
}
GoalOperation calculate(std::int64_t ns, std::vector<int> after = {}) {
  GoalOperation operation;
  operation.work = {ns * 1000};
  operation.after = std::move(after);
  return operation;
}

double us_of(const GoalProgram& program) {
  PredictionRequest request =
      request_for(ideal_cluster(static_cast<int>(program.ranks.size())), 2_B);
  request.communication.channels = 1;
  request.goal = std::make_shared<GoalProgram>(program);
  return us_of(request);
}

TEST(GoalTimes, AreThoseOfItsLongestChain) {
  // 1 us, then 50 kB over the wire, then half a microsecond there.
  EXPECT_NEAR(us_of(GoalProgram{"p",
                                "",
                                {{calculate(1000), send(1, 50'000, {0})},
                                 {receive(0, 50'000), calculate(500, {0})}}}),
              1 + kAlpha + 1 + 0.5, 1e-6);
  // Handed on from rank to rank.
  EXPECT_NEAR(us_of(GoalProgram{"chain",
                                "",
                                {{send(1, 100'000)},
                                 {receive(0, 100'000), send(2, 100'000, {0})},
                                 {receive(1, 100'000)}}}),
              2 * (kAlpha + 2), 1e-6);
}

// 20 ps a byte, whatever types a length can be counted in; what has none is a byte.
TEST(GoalTimes, AreThoseOfSoManyBytes) {
  for (const std::int64_t bytes : {0, 1, 2, 3, 4, 49'999, 50'001, 50'002}) {
    const double sent = static_cast<double>(std::max<std::int64_t>(1, bytes));
    EXPECT_NEAR(us_of(GoalProgram{"p", "", {{send(1, bytes)}, {receive(0, bytes)}}}),
                kAlpha + sent / kBytesPerUs, 1e-6)
        << bytes;
  }
}

TEST(GoalTimes, KnowThatMessagesShareAWire) {
  EXPECT_NEAR(
      us_of(GoalProgram{
          "incast",
          "",
          {{receive(1, 100'000), receive(2, 100'000)}, {send(0, 100'000)}, {send(0, 100'000)}}}),
      kAlpha + 4, 0.1);
}

// A receive that waits for another one holds up neither the message nor whoever sends it.
TEST(GoalTimes, WaitOnlyWhereSomethingWaits) {
  EXPECT_NEAR(us_of(GoalProgram{"two",
                                "",
                                {{send(1, 100'000), send(1, 100'000)},
                                 {receive(0, 100'000), receive(0, 100'000, {0})}}}),
              kAlpha + 4, 0.1);
  // The same where the sender waits: it knows after an acknowledgement, which takes 1 us more.
  EXPECT_NEAR(us_of(GoalProgram{"waits",
                                "",
                                {{send(1, 100'000), send(1, 100'000, {0})},
                                 {receive(0, 100'000), receive(0, 100'000)}}}),
              2 * (kAlpha + 2) + kAlpha, 1.01);
}

TEST(GoalTasks, BeginWhenOthersHaveBegun) {
  GoalProgram program{"p", "", {{calculate(3000), calculate(1000, {0}), calculate(2000)}}};
  program.ranks.push_back({calculate(1)});
  // The last begins when the second does, at 3 us.
  program.ranks[0][2].after_start = {1};
  EXPECT_NEAR(us_of(program), 5, 1.01);
}

std::string wrong(const GoalProgram& program) {
  std::vector<GoalProblem> problems;
  std::vector<int> gpus;
  for (int i = 0; i < static_cast<int>(program.ranks.size()); ++i) gpus.push_back(i);
  goal_tasks(program, gpus, {}, problems);
  std::string text;
  for (const GoalProblem& problem : problems) text += problem.text + "\n";
  return text;
}

TEST(GoalTasks, TellWhatDoesNotMeet) {
  EXPECT_EQ(wrong({"p", "", {{send(1, 8)}, {receive(0, 8)}}}), "");
  EXPECT_NE(wrong({"p", "", {{send(1, 8)}, {}}}).find("rank 1 has no receive for it"),
            std::string::npos);
  EXPECT_NE(wrong({"p", "", {{}, {receive(0, 8)}}}).find("rank 0 sends nothing that"),
            std::string::npos);
  EXPECT_NE(wrong({"p", "", {{send(1, 8)}, {receive(0, 9)}}}).find("receives 9"),
            std::string::npos);
  // Each receives only after it has sent, and what it sends is received after that.
  EXPECT_NE(wrong({"p", "", {{send(1, 8), receive(1, 8, {0})}, {send(0, 8), receive(0, 8, {0})}}})
                .find("wait for each other"),
            std::string::npos);
}

}  // namespace
}  // namespace gradhaul
