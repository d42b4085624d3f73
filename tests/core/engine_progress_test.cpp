#include "core/engine_progress.h"

#include <gtest/gtest.h>

#include "core/ring_schedule.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kSlice = 256;  // elements
constexpr int kRanks = 4;

// One channel; chunks of five slices, the last one `last` elements long.
RingSchedule ring(std::int64_t last) {
  const std::int64_t chunk = 4 * kSlice + last;
  const MessagePlan plan(kRanks * chunk, DataType::kFp32, 1, kRanks, Bytes{4 * kSlice});
  return {plan, {{0, 1, 2, 3}}};
}

// A rank whose lane has `finished` items done and the next ones started up to `started`.
EngineState state_at(const Schedule& schedule, std::int64_t finished, std::int64_t started) {
  EngineState state{schedule, 0, 1, {}, {}, {}};
  const EngineLayout layout = lay_out(schedule, 0, 2, Bytes{4 * kSlice});
  state.ends = layout.connections;
  state.lanes.emplace_back(layout.lanes[0], 2);
  state.lanes[0].finish.index = finished;
  state.lanes[0].send.index = finished;
  state.lanes[0].start.index = started;
  return state;
}

std::int64_t repetitions_from(const Schedule& schedule, const LanePlace& since, std::int64_t shift,
                              std::int64_t most = 1000) {
  const EngineState now = state_at(schedule, since.finish + shift, since.start + shift);
  return repetitions(now, {{since}, {}, {}, 0}, most);
}

// Items 5 to 19 reduce, those from 20 on copy. The n-th repetition looks at items up to the start
// plus (n - 1) shifts, and each must be like the one a shift further on.
TEST(Repetitions, EndWhereTheScheduleAsksForSomethingElse) {
  const RingSchedule even = ring(kSlice);
  ASSERT_EQ(even.items(0, 0, 0), 35);
  EXPECT_EQ(repetitions_from(even, {5, 5, 5}, 1), 19 - 6);
  EXPECT_EQ(repetitions_from(even, {7, 5, 5}, 1), 19 - 8);
  EXPECT_EQ(repetitions_from(even, {5, 5, 5}, 5), 1);
  EXPECT_EQ(repetitions_from(even, {5, 5, 5}, 3), (16 - 8) / 3 + 1);
  // Copies and their sends until the last step, which sends nothing: items 30 to 34.
  EXPECT_EQ(repetitions_from(even, {20, 20, 20}, 1), 29 - 21);
  EXPECT_EQ(repetitions_from(even, {30, 30, 30}, 1), 34 - 31);
  EXPECT_EQ(repetitions_from(even, {33, 33, 33}, 1), 0);
}

TEST(Repetitions, StepByStepWhereTheLastSliceIsShorter) {
  const RingSchedule uneven = ring(7);
  EXPECT_EQ(repetitions_from(uneven, {5, 5, 5}, 1), 8 - 6);
  EXPECT_EQ(repetitions_from(uneven, {7, 7, 7}, 1), 0);
  EXPECT_EQ(repetitions_from(uneven, {5, 5, 5}, 5), 1);
}

// A pipeline whose cursors are a step apart: what lies between them is looked at by nobody before
// the one behind comes to it. Slices 9, 14 and 19 are shorter.
TEST(Repetitions, OfCursorsThatAreFarApart) {
  const RingSchedule uneven = ring(7);
  const auto from = [&](const LanePlace& since, std::int64_t shift) {
    EngineState now = state_at(uneven, since.finish + shift, since.start + shift);
    now.lanes[0].send.index = since.send + shift;
    return repetitions(now, {{since}, {}, {}, 0}, 1000);
  };
  EXPECT_EQ(from({11, 6, 6}, 1), 13 - 12) << "the start comes to slice 14";
  EXPECT_EQ(from({10, 5, 5}, 1), 13 - 11);
  EXPECT_EQ(from({10, 6, 5}, 1), 8 - 7) << "the sends come to slice 9";
  EXPECT_EQ(from({10, 6, 6}, 2), 0);
  EXPECT_EQ(from({10, 5, 5}, 5), 0) << "the step after the next one copies";
}

TEST(Repetitions, AreAtMostWhatIsAskedFor) {
  const RingSchedule even = ring(kSlice);
  EXPECT_EQ(repetitions_from(even, {5, 5, 5}, 1, 4), 4);
  EXPECT_EQ(repetitions_from(even, {5, 5, 5}, 0, 4),
            4);  // a lane that stands still hinders nothing
}

TEST(Repeat, MovesCursorsAndCounters) {
  const RingSchedule even = ring(kSlice);
  EngineState state = state_at(even, 6, 7);
  state.connections.push_back({SendWindow(2), ReceiveWindow(2), 0});
  EngineProgress since{{{6, 5, 5}}, state.connections, {}, 0};
  Connection& connection = state.connections[0];
  connection.sending.post();
  connection.sending.on_written();
  connection.sending.settle();
  connection.sending.on_credits(1);
  connection.receiving.on_arrived(4);
  EXPECT_EQ(connection.receiving.start(4), 0);
  connection.receiving.on_consumed();
  connection.receiving.grant();
  connection.receiving.on_credit_done();
  std::vector<std::int64_t> before;
  append_state(state, before);
  repeat(state, since, 4);
  std::vector<std::int64_t> after;
  append_state(state, after);
  EXPECT_EQ(after, before);
  EXPECT_EQ(state.lanes[0].start.index, 11);
  EXPECT_EQ(state.lanes[0].send.index, 10);
  EXPECT_EQ(state.lanes[0].finish.index, 10);
  EXPECT_EQ(connection.sending.posted(), 5);
  EXPECT_EQ(connection.sending.credits(), 2 + 5);
  EXPECT_EQ(connection.receiving.consumed(), 5);
  EXPECT_EQ(connection.receiving.granted(), 2 + 5);
  // The sixth write goes into the second of two slots.
  EXPECT_EQ(connection.sending.post(), 1);
}

}  // namespace
}  // namespace gradhaul
