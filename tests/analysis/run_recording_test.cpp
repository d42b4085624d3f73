// What is kept of a run that is looked at: bins and intervals that grow coarser and lose nothing in
// sum, threads without overlaps, and a limit that says what it left out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/busy_intervals.h"
#include "analysis/queue_meter.h"
#include "analysis/run_recorder.h"
#include "analysis/time_bins.h"
#include "analysis/trace_json.h"
#include "analysis/trace_tracks.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TimeBins, SharesKeepTheirSumAsBinsGrow) {
  TimeBins bins(BinKind::kShare, 4);
  bins.add(500, 1500);
  EXPECT_THAT(bins.values(), ElementsAre(500, 500));
  bins.add(3999, 4001);
  EXPECT_EQ(bins.width(), 2000);
  EXPECT_THAT(bins.values(), ElementsAre(1000, 1, 1));
  bins.widen(16'000);
  EXPECT_THAT(bins.values(), ElementsAre(1002));
}

TEST(TimeBins, PeaksKeepTheirGreatest) {
  TimeBins bins(BinKind::kPeak, 4);
  bins.add(0, 1000, 7);
  bins.add(1000, 2500, 9);
  bins.add(2500, 2500, 100);
  EXPECT_THAT(bins.values(), ElementsAre(7, 9, 9));
  bins.add(7000, 7001, 1);
  EXPECT_EQ(bins.width(), 2000);
  EXPECT_THAT(bins.values(), ElementsAre(9, 9, 0, 1));
}

TEST(BusyIntervals, JoinWhatTouchesAndThenWhatIsClose) {
  BusyIntervals busy(3);
  busy.add(0, 10, 1);
  busy.add(10, 20, 1);
  busy.add(3020, 3030, 1);
  busy.add(3520, 3530, 1);
  ASSERT_EQ(busy.intervals().size(), 3U);
  EXPECT_EQ(busy.intervals()[0].end, 20);
  EXPECT_EQ(busy.gap(), 0);
  busy.add(90'000, 90'010, 1);
  EXPECT_EQ(busy.gap(), 1000);
  ASSERT_EQ(busy.intervals().size(), 3U);
  EXPECT_EQ(busy.intervals()[1].start, 3020);
  EXPECT_EQ(busy.intervals()[1].end, 3530);
  EXPECT_EQ(busy.intervals()[1].busy, 20);
  EXPECT_EQ(busy.intervals()[1].services, 2);
}

// Two packets come at 0 and 1000, and go at 2000 and 3000; both goings are told before the second
// coming.
TEST(QueueMeter, PutsComingAndGoingInOrder) {
  QueueMeter queue(16);
  queue.change(0, 100);
  queue.change(2000, -100);
  queue.change(1000, 50);
  queue.change(3000, -50);
  queue.end(4000);
  EXPECT_THAT(queue.depth().values(), ElementsAre(100, 150, 50));
}

TEST(TraceTracks, OverlapsAreSideBySide) {
  std::vector<TracePiece> pieces{
      {20, 30, 0, 0, 2}, {0, 10, 0, 0, 0}, {5, 20, 0, 0, 1}, {6, 7, 0, 0, 3}};
  const std::vector<std::size_t> threads = lay_side_by_side(pieces);
  EXPECT_EQ(pieces[0].index, 0);
  EXPECT_EQ(pieces[3].index, 2);
  EXPECT_THAT(threads, ElementsAre(0, 1, 2, 0));
}

RunLayout layout() {
  RunLayout layout;
  layout.size = {1000};
  layout.channels = 1;
  layout.ranks = {"node0.gpu0", "node1.gpu0"};
  layout.links = {{"node0.nic0.out", "node0.nic0"}, {"leaf0-spine1.0.up", "leaf0:3"}};
  return layout;
}

ObservedTransfer transfer(std::int64_t start) {
  ObservedTransfer seen;
  seen.connection = {0, 0, 1, 0};
  seen.ready = seen.posted = seen.left = start;
  seen.landing = seen.landed = seen.arrived = seen.done = start + 100;
  return seen;
}

TEST(RunRecorder, KeepsUpToATimeAndSaysSo) {
  RecordingSettings settings;
  settings.most_events = 2 * 3 * kEventsOfTransfer;  // half of them for slices
  RunRecorder recorder(settings);
  recorder.on_row(layout());
  for (int i = 0; i < 5; ++i) recorder.on_transfer(transfer(i * 100));
  recorder.on_row_end(600, true);
  const RecordedRow& row = recorder.rows().front();
  EXPECT_EQ(row.transfers.size(), 3U);
  EXPECT_EQ(row.left_out, 2);
  EXPECT_EQ(row.complete_until, 400);
  EXPECT_THAT(left_out_of_trace(recorder),
              ElementsAre(HasSubstr("2 of 5 transfers and reductions are left out, those that "
                                    "were over after 0.000400 of 0.000600 us")));
}

TEST(RunRecorder, NarrowsByRankWindowAndLink) {
  RecordingSettings settings;
  settings.ranks = std::set<Rank>{1};
  settings.from = 150;
  settings.until = 300;
  settings.links = {"leaf0", "node0.nic1"};
  RunRecorder recorder(settings);
  EXPECT_TRUE(recorder.watches({"leaf0-spine1.0.up", ""}));
  EXPECT_FALSE(recorder.watches({"leaf01-spine1.0.up", ""}));
  EXPECT_FALSE(recorder.watches({"node0.nic0.out", ""}));
  EXPECT_TRUE(recorder.watches({"node0.nic1.out", ""}));
  recorder.on_row(layout());
  for (int i = 0; i < 5; ++i) recorder.on_transfer(transfer(i * 100));
  ObservedTransfer elsewhere = transfer(200);
  elsewhere.connection = {0, 0, 2, 0};
  recorder.on_transfer(elsewhere);
  recorder.on_row_end(600, true);
  // Those of 100 to 200 and of 200 to 300 have to do with the window.
  EXPECT_EQ(recorder.rows().front().transfers.size(), 2U);
  EXPECT_THAT(left_out_of_trace(recorder), IsEmpty());
}

}  // namespace
}  // namespace gradhaul
