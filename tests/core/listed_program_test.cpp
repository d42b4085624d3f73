// Algorithms that are listed step by step: what is right is proven as the project's own are, by the
// real engines on symbols; what is wrong is told, with the line where it stands.

#include "core/listed_program.h"

#include <gmock/gmock.h>

#include "core/listed_schedule.h"
#include "core/symbolic_checker.h"
#include "tests/core/listed_examples.h"

namespace gradhaul {
namespace {

using namespace listed;  // NOLINT(google-build-using-namespace)
using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<const ListedProgram> made(const ListedAlgorithm& algorithm) {
  std::vector<ListedProblem> problems;
  check_listed_shape(algorithm, problems);
  std::shared_ptr<const ListedProgram> program;
  if (problems.empty()) program = listed_program(algorithm, problems);
  for (const ListedProblem& problem : problems) ADD_FAILURE() << problem.text;
  return program;
}

// What is wrong, all of it.
std::string wrong(const ListedAlgorithm& algorithm) {
  std::vector<ListedProblem> problems;
  check_listed_shape(algorithm, problems);
  if (problems.empty()) {
    EXPECT_EQ(listed_program(algorithm, problems), nullptr);
  }
  std::string text;
  for (const ListedProblem& problem : problems) text += problem.text + "\n";
  return text;
}

// By the engines, with so many slots, in order and in three random orders, three slices a chunk and
// two elements a slice. Returns the bytes that each rank sent.
std::vector<Bytes> proven(const ListedAlgorithm& algorithm, int slots) {
  const auto program = made(algorithm);
  if (!program) return {};
  oracle::CheckSettings settings;
  settings.collective = algorithm.collective;
  settings.world.engine.slots = slots;
  settings.world.engine.slot_size = {2 * 4};
  settings.world.engine.reduction = Reduction::kAvg;
  settings.world.count = 5 * algorithm.chunks;
  std::vector<Bytes> sent;
  for (int order = 0; order < 4; ++order) {
    if (order > 0) settings.seed = order;
    settings.world.in_place = algorithm.in_place && order % 2 == 1;
    const ListedSchedule schedule(program, settings.world.count, 2);
    const oracle::CheckReport report = oracle::check_schedule(schedule, settings);
    EXPECT_TRUE(report.ok()) << algorithm.name << " of " << algorithm.ranks.size() << ":\n"
                             << report.text();
    sent = report.bytes_sent;
  }
  return sent;
}

// Of a message of 5 elements a chunk of 4 bytes.
Bytes chunks(int number) { return {20 * std::int64_t{number}}; }

TEST(ListedProgram, IsProvenAsAnyScheduleIs) {
  for (const int slots : {1, 4}) {
    for (const int n : {2, 3, 4, 7, 8}) {
      SCOPED_TRACE(n);
      for (const Bytes sent : proven(ring_all_reduce(n, 2), slots)) {
        EXPECT_EQ(sent, chunks(2 * 2 * (n - 1)));
      }
      for (const Bytes sent : proven(all_pairs(n, 0), slots)) EXPECT_EQ(sent, chunks(2 * (n - 1)));
      for (const bool in_place : {false, true}) {
        for (const Bytes sent : proven(ring_all_gather(n, in_place), slots)) {
          EXPECT_EQ(sent, chunks(n - 1));
        }
      }
      for (const Bytes sent : proven(all_to_all(n), slots)) EXPECT_EQ(sent, chunks(2 * (n - 1)));
      for (const Bytes sent : proven(reduce_scatter(n), slots)) EXPECT_EQ(sent, chunks(n - 1));
      EXPECT_EQ(proven(chain_broadcast(n), slots).front(), chunks(3));
    }
  }
}

// Who adds sits on another channel, whose items wait for those of the first and the other way
// round.
TEST(ListedProgram, MayWaitForOtherChannels) {
  for (const int n : {2, 3, 6}) {
    EXPECT_TRUE(made(all_pairs(n, 1))->crosses_channels);
    EXPECT_FALSE(made(all_pairs(n, 0))->crosses_channels);
    for (const Bytes sent : proven(all_pairs(n, 1), 1)) EXPECT_EQ(sent, chunks(2 * (n - 1)));
  }
}

// More ranks than a word has bits.
TEST(ListedProgram, TakesAnyNumberOfRanks) {
  EXPECT_EQ(made(ring_all_reduce(70, 1))->ranks.size(), 70U);
}

TEST(ListedProgram, TakesAsManyThreadBlocksAsAChannelHasLanes) {
  EXPECT_EQ(made(all_pairs(63, 0))->lanes, 64);
  EXPECT_THAT(wrong(all_pairs(64, 0)),
              HasSubstr("64 thread blocks of one channel, and can have 63"));
}

// Taking away any wait that is there lets something be read or overwritten too early.
TEST(ListedProgram, FindsWhatDoesNotWait) {
  const ListedAlgorithm right = all_pairs(4, 0);
  int waits = 0;
  for (std::size_t block = 0; block < right.ranks[1].blocks.size(); ++block) {
    for (std::size_t at = 0; at < right.ranks[1].blocks[block].steps.size(); ++at) {
      ListedAlgorithm broken = right;
      ListedStep& step = broken.ranks[1].blocks[block].steps[at];
      if (step.after_block < 0) continue;
      step.after_block = step.after_step = -1;
      ++waits;
      EXPECT_THAT(wrong(broken), HasSubstr("may still be")) << block << ", " << at;
    }
  }
  EXPECT_EQ(waits, 3 + 3);
}

ListedStep& step_of(ListedAlgorithm& algorithm, int rank, int block, int step) {
  return algorithm.ranks[static_cast<std::size_t>(rank)]
      .blocks[static_cast<std::size_t>(block)]
      .steps[static_cast<std::size_t>(step)];
}

TEST(ListedProgram, FindsWhatNeverComes) {
  ListedAlgorithm stuck = ring_all_reduce(3, 1);
  stuck.ranks[1].blocks[0].steps.pop_back();
  EXPECT_THAT(wrong(stuck), AllOf(HasSubstr("rank 1 does not receive all that rank 0 sends"),
                                  HasSubstr("1 chunks are left")));
  // Who begins waits for somebody to begin.
  stuck = chain_broadcast(3);
  for (ListedStep& each : stuck.ranks[0].blocks[0].steps) each.action = kNothing;
  EXPECT_THAT(wrong(stuck), HasSubstr("rank 1, thread block 0 waits for ever in step 0 for a chunk "
                                      "from rank 0"));
}

TEST(ListedProgram, FindsWrongResults) {
  ListedAlgorithm twice = ring_all_reduce(3, 1);
  step_of(twice, 0, 0, 0).source.index = 1;
  EXPECT_THAT(wrong(twice), HasSubstr("adds chunk 1 of the message to chunk 0"));
  ListedAlgorithm short_of_one = all_pairs(3, 0);
  step_of(short_of_one, 0, 2, 1).action = kNothing;
  EXPECT_THAT(wrong(short_of_one), HasSubstr("in the end chunk 0 of rank 0 holds something else"));
  ListedAlgorithm again = all_pairs(3, 0);
  step_of(again, 0, 2, 1).source = step_of(again, 0, 2, 0).source;
  EXPECT_THAT(wrong(again), HasSubstr("contributed a second time"));
  ListedAlgorithm empty = all_to_all(3);
  step_of(empty, 2, 0, 0).action = kNothing;
  EXPECT_THAT(wrong(empty), HasSubstr("chunk 4 of rank 2 holds nothing"));
}

TEST(ListedProgram, FindsWhatIsOutOfBounds) {
  ListedAlgorithm far = ring_all_reduce(3, 1);
  step_of(far, 0, 0, 0).source.index = 3;
  step_of(far, 1, 0, 0).after_block = 1;
  far.ranks[2].blocks[0].sends_to = 3;
  const std::string told = wrong(far);
  EXPECT_THAT(told, HasSubstr("source: chunks 3 to 3 of a buffer of 3"));
  EXPECT_THAT(told, HasSubstr("waits for a step that there is not: thread block 1"));
  EXPECT_THAT(told, HasSubstr("rank 2 cannot send to 3"));
  EXPECT_THAT(told, HasSubstr("rank 0 receives from 2, where nobody sends to it"));
  ListedAlgorithm second = all_pairs(3, 0);
  second.ranks[0].blocks[1].sends_to = second.ranks[0].blocks[0].sends_to;
  EXPECT_THAT(wrong(second), HasSubstr("a second thread block of channel 0 sends to 1"));
  ListedAlgorithm written = all_to_all(3);
  step_of(written, 0, 1, 1).target.buffer = kI;
  EXPECT_THAT(wrong(written), HasSubstr("writes to the input, and the algorithm does not run in"));
}

}  // namespace
}  // namespace gradhaul
