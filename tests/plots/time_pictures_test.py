"""Pictures over time: slices on their way, stalls, training steps."""

import slice_pipeline
import stalls_over_time
import step_time_line
from drawn import DrawnTest
from sample_files import MiB, result
from sample_traces import counter, hop, interval, trace, training_step
from trace_events import Slice


class PipelineTest(DrawnTest):
    def test_follows_slices_from_hop_to_hop(self):
        events = [event for sequence in range(30) for sender in range(4)
                  for event in hop(sender, (sender + 1) % 4, sequence, 2.0 * sequence + sender)]
        page = self.page("pipeline", trace(events))
        self.assertIn("How do slices travel from rank to rank in sample?", page.texts)
        for text in ("rank 0 to rank 1", "rank 1 to rank 2", "rank 2 to rank 3", "time (us)",
                     "slice", "(number)", "waits for a free slot", "posted, not yet on the wire",
                     "flies", "arrived, not yet known", "waits for its reduction",
                     "is reduced or copied"):
            self.assertIn(text, page.texts)
        self.assertNotIn("rank 3 to rank 0", page.texts)
        # Six stages of 24 slices on three connections; six more slices of each are told of.
        self.assertEqual(page.boxes("segments"), 6 * 24 * 3)
        self.assertIn("18 more follow. 1 other connection is not shown.", page.all_text)

    def test_a_copy_is_a_stage_as_a_reduction_is(self):
        events = [event | {"cat": "copy"} if event["cat"] == "reduce" else event
                  for event in hop(0, 1, 0, 0.0)]
        self.assertEqual(self.page("pipeline", trace(events)).boxes("segments"), 6)

    def test_stages_follow_each_other(self):
        found = Slice("ch0 0>1", 0, 0, 1, 0, 0,
                      {event["cat"]: (event["ts"], event["ts"] + event["dur"])
                       for event in hop(0, 1, 0, 5.0)})
        self.assertEqual([(low, high) for _, low, high in slice_pipeline._segments(found)],
                         [(5, 6), (6, 8), (8, 12), (12, 13), (13, 14), (14, 17)])

    def test_parts_of_a_slice_may_be_missing(self):
        self.sheet("pipeline", trace(hop(0, 1, 0, 0.0)[1:2]))
        self.assertIn("0.json: shows no slice that was sent",
                      self.complaint("pipeline", trace(hop(0, 1, 0, 0.0)[2:])))
        self.assertIn("0.json: names no row", self.complaint("pipeline", trace([], [])))
        self.assertIn("0.json: is a result file", self.complaint("pipeline", result({MiB: 1.0})))


class StallsTest(DrawnTest):
    def test_shows_each_kind_and_who_has_most_of_it(self):
        events = counter("node0.nic0.out queue", [(0, 0), (10, 64000), (50, 0)])
        events += counter("node0.nic1.out queue", [(0, 0), (20, 32000), (30, 0)])
        for leaf in range(8):  # equal, and so one strip
            events += counter(f"leaf{leaf}-spine0.0.up credit stall", [(0, 25), (60, 0)])
        events += counter("node0.nic0.out paused", [(20, 50), (30, 0)])
        events += counter("node0.nic1.out paused", [(20, 10), (30, 0)])
        page = self.page("stalls", trace(events))
        for text in ("queued before", "a link (kB)", "paused by PFC", "packets wait for credits",
                     "time (us)", "leaf*-spine0.0.up (8 equal)", "node0.nic0.out",
                     "node0.nic1.out", "node0.nic*.out (the highest of 2)",
                     "waits all of the time", "a quarter of it"):
            self.assertIn(text, page.all_text)
        # Half of 10 of 100 us; a quarter of 60.
        self.assertIn("node0.nic0.out is paused most, 5 % of the time; leaf*-spine0.0.up (8 equal) "
                      "is without credits most, 15 % of the time.", page.all_text)
        self.assertEqual((len(page.groups("queue")), len(page.groups("strip"))), (1, 3))

    def test_takes_the_last_row_alone(self):
        points = stalls_over_time.clipped([(0, 1), (99, 2), (150, 3), (250, 4)], 100, 200)
        self.assertEqual(points, [(0, 2), (50, 3)])

    def test_bins_keep_the_highest_or_the_mean(self):
        # 400 bins of 1: 8 holds for a quarter of the third, 4 for the rest and the fourth.
        points = [(0, 0), (2, 8), (2.25, 4), (4, 0)]
        self.assertEqual(stalls_over_time.binned(points, 400, False)[:5], [0, 0, 8, 4, 0])
        self.assertEqual(stalls_over_time.binned(points, 400, True)[:5], [0, 0, 5, 4, 0])

    def test_nothing_waited_and_much_did(self):
        self.assertIn("Nowhere.", self.page("stalls", trace([])).all_text)
        events = []
        for port in range(40):
            events += counter(f"node{port}.{'x' * port} queue", [(0, port), (port, 0), (90, 5)])
            events += counter(f"node{port}.nic0.out paused", [(0, port), (port + 1, 0)])
        page = self.page("stalls", trace(events))
        self.assertIn("34 more", page.texts)
        # The first is paused 0 % of the time, ten are shown.
        self.assertIn("29 more links: paused by PFC, but less.", page.all_text)
        self.assertIn("node39.nic0.out", page.texts)


class TimeLineTest(DrawnTest):
    def test_splits_communication_where_compute_goes_on(self):
        computed = step_time_line.joined([(0, 10), (10, 20), (30, 40)], 0)
        self.assertEqual(computed, [(0, 20), (30, 40)])
        self.assertEqual(step_time_line.split(15, 35, computed),
                         [(step_time_line.HIDDEN, 15, 20), (step_time_line.EXPOSED, 20, 30),
                          (step_time_line.HIDDEN, 30, 35)])
        self.assertEqual(step_time_line.split(45, 50, computed),
                         [(step_time_line.EXPOSED, 45, 50)])

    def test_tells_how_much_is_hidden(self):
        timeline = [interval(0, "compute", "forward layers.0", (0, 20)),
                    interval(0, "compute", "backward layers.0", (20, 60)),
                    interval(0, "data", "all_reduce bucket 0", (40, 80)),
                    interval(0, "compute", "optimizer", (80, 100))]
        page = self.page("time-line", training_step(timeline, 20.0, 40.0))
        self.assertIn("How much of its communication does a step of step hide? 50 %: 20 us of "
                      "40 us.", page.all_text)
        for text in ("compute", "data", "time (us)", "forward", "backward", "other compute",
                     "communication, hidden behind compute",
                     "communication, exposed: compute waits"):
            self.assertIn(text, page.texts)
        self.assertIn("A step of 100 us, 20 us exposed (20 %)", page.all_text)
        # Three kinds of compute in one lane, two of communication in the other.
        self.assertEqual((len(page.groups("bars-0")), len(page.groups("bars-1"))), (3, 2))

    def test_steps_beside_each_other_and_many_lanes(self):
        lanes = [interval(rank, group, "forward", (0, 50 + rank)) for rank in range(16)
                 for group in ("compute", "data", "pipeline forward")]
        other = training_step(lanes, 1.0, 2.0, 300.0)
        other["scenario"]["effective"]["workload"] = {"training_step": {"overlap": False}}
        page = self.page("time-line", training_step(lanes, 0.0, 2.0), other)
        self.assertIn("24 more lanes are not shown.", page.all_text)
        self.assertIn("overlap false", page.all_text)

    def test_what_is_no_step(self):
        self.assertIn("0.json: has no `training_step`",
                      self.complaint("time-line", result({MiB: 1.0})))
        self.assertIn("0.json: training_step.timeline is empty",
                      self.complaint("time-line", training_step([], 0, 0)))
        self.assertIn("0.json: training_step.timeline[0] has no start_us from 0 on",
                      self.complaint("time-line", training_step(
                          [interval(0, "data", "x", (5, 1))], 0, 0)))
