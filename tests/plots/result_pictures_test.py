"""Pictures of results and comparisons say what their files hold."""

import math
import re

import cluster_shape
import crossovers
import resource_names
from drawn import DrawnTest
from sample_files import (HGX_OF_TWO, MiB, cluster_result, compared_ladder, comparison, ladder,
                          result)


class BusbwTest(DrawnTest):
    def test_marks_crossovers_where_times_are_equal(self):
        # The ratio of times is 2 at 1 MiB and 1/2 at 4 MiB: 1 half way, by logarithms, at 2 MiB.
        fast = result({MiB: 100.0, 4 * MiB: 800.0}, algorithm="double_binary_tree")
        ring = result({MiB: 200.0, 4 * MiB: 400.0})
        page = self.page("busbw", ring, fast)
        self.assertIn("Which of the two is faster at which message size?", page.texts)
        self.assertIn("(1) from 2 MiB on, ring is faster than double_binary_tree", page.all_text)
        self.assertIn("bus bandwidth (GB/s)", page.texts)
        self.assertIn("message size (bytes)", page.texts)
        for label in ("ring", "double_binary_tree", "1 MiB", "4 MiB"):
            self.assertIn(label, page.texts)
        self.assertEqual((page.marks("run0"), page.marks("run1")), (2, 2))
        self.assertEqual(page.marks("crossover1"), 1)

    def test_a_crossover_lies_where_lines_through_latency_and_rate_cross(self):
        # 10 us + s / 1 GB/s against 1 us + s / 0.5 GB/s: equal at s = 9000 B.
        sizes = [1000 * 1.05 ** power for power in range(80)]
        series = [{size: 10 + size / 1000 for size in sizes},
                  {size: 1 + size / 500 for size in sizes}]
        found = crossovers.crossovers(series)
        self.assertEqual([(before, after) for _, before, after in found], [(1, 0)])
        self.assertLess(abs(math.log(found[0][0] / 9000)), 0.002)

    def test_who_draws_level_does_not_take_over(self):
        self.assertEqual(crossovers.crossovers([{1: 1.0, 2: 2.0}, {1: 1.0, 2: 2.0}]), [])
        self.assertEqual(crossovers.crossovers([{1: 1.0}, {2: 1.0}]), [])
        self.assertEqual(crossovers.crossovers([{1: 1.0, 2: 3.0}, {1: 2.0, 2: 3.0}]), [])

    def test_runs_name_their_profile(self):
        ours, theirs = result({MiB: 100.0}), result({MiB: 90.0})
        for run, profile in ((ours, "gradhaul"), (theirs, "nccl-2.30")):
            run["scenario"]["effective"]["communication"] = {"profile": profile}
        self.assertIn("2 channels, profile gradhaul, predicted",
                      self.page("busbw", ours).all_text)
        self.assertIn("profile nccl-2.22", self.page(
            "busbw", result({MiB: 90.0}, profile="nccl-2.22")).all_text)
        # Which they do not have in common stands beside each.
        both = self.page("busbw", ours, theirs).all_text
        self.assertIn("2 channels, predicted", both)
        self.assertIn("profile gradhaul", both)
        self.assertIn("profile nccl-2.30", both)

    def test_comparisons_and_ladders_name_their_profiles(self):
        compared = comparison([(MiB, 100.0, 105.0, "within")])
        compared["rows"][0]["predicted"]["profile"] = "nccl-2.30"
        page = self.page("agreement", compared)
        self.assertIn("(gradhaul result, profile nccl-2.30)", page.all_text)
        self.assertIn("(nccl-tests)", page.all_text)
        rungs = compared_ladder({"link": (10.0, 10.0, "within")})
        rungs["measured_profile"] = "gradhaul"
        self.assertIn("measured.json (profile gradhaul)", self.page("ladder", rungs).all_text)
        alone = ladder({"link": 10.0})
        alone["scenario"]["effective"] = {"communication": {"profile": "nccl-2.22"}}
        self.assertIn("predicted, profile nccl-2.22", self.page("ladder", alone).all_text)

    def test_one_run_has_its_times_below(self):
        page = self.page("busbw", result({1024: 10.0, 2048: 20.0, 4096: 30.0}))
        self.assertIn("How much bandwidth does sample get, by message size?", page.texts)
        self.assertIn("time (us)", page.texts)
        self.assertEqual(page.marks("run0"), 3)
        self.assertNotIn("Crossovers", page.all_text)

    def test_forty_runs_of_which_the_fastest_are_coloured(self):
        runs = [result({MiB: 100.0 + index, 64 * MiB: 4000.0 - index}, f"run-{index}")
                for index in range(40)]
        page = self.page("busbw", *runs)
        self.assertIn("34 more", page.texts)
        # The first is the fastest at 1 MiB, the last at 64 MiB.
        self.assertTrue({"run-0", "run-39"} <= set(re.findall(r"run-\d+", page.all_text)))

    def test_ugly_values_and_names(self):
        name = "a $very$ <long> & " + "name_of_a_scenario_without_any_space" * 4
        self.assertIn("does a $very$ <long> & name", self.page("busbw", result(
            {MiB: 5.0}, name)).all_text)
        self.sheet("busbw", result({MiB: 5.0, 3: 1e-3, 14 * 10 ** 9: 1e9}, name),
                   result({MiB: 5.0, 14 * 10 ** 9: 1e10, 0: 1.0}, name))
        self.sheet("busbw", result({MiB: 5.0, 2 * MiB: 5.0}, busbw_GBps=0))

    def test_halves_of_a_measurement_are_drawn_once(self):
        measured = result({MiB: 50.0}, in_place=True)
        measured["rows"] += result({MiB: 100.0}, in_place=False)["rows"]
        page = self.page("busbw", measured)
        self.assertEqual(page.marks("run0"), 1)
        self.assertIn("Out of place.", page.texts)


class BlameTest(DrawnTest):
    def test_names_shares_and_the_limit(self):
        page = self.page("blame", result({MiB: 200.0}))
        self.assertIn("What limits sample? Mostly node0.nic0 (2 equal).", page.texts)
        self.assertIn("75 %, 150 us", page.texts)
        self.assertIn("25 %, 50 us", page.texts)
        self.assertIn("node0.nic0: moving data, or waiting for its turn", page.texts)
        self.assertIn("node*.nic0 (2 equal): NIC wire", page.texts)
        self.assertIn("95 % (limits)", page.texts)
        self.assertIn("share of the critical path (%)", page.texts)
        self.assertIn("busy (% of the time)", page.texts)

    def test_many_parts_are_told_together(self):
        parts = {f"node{i}.gpu{i}.reduce: cause{i}": 1.0 for i in range(30)}
        page = self.page("blame", result({MiB: 30.0}, parts_us=parts, limited_by="latency"))
        self.assertIn("21 more", page.texts)
        self.assertIn("70 %, 21 us", page.texts)

    def test_groups_are_those_of_the_report(self):
        self.assertEqual(resource_names.common_name(["node0.nic3", "node7.nic3"]), "node*.nic3")
        uses = [{"name": f"node{i}.nic0", "kind": "nic", "utilisation": load}
                for i, load in enumerate((0.9, 0.3, 0.89, 0.31))]
        groups = resource_names.grouped_uses(uses)
        self.assertEqual([len(group.names) for group in groups], [2, 2])

    def test_an_explanation(self):
        content = {"schema": "gradhaul.explanation/1", "scenario": {"name": "sample"},
                   "run": {"time_us": 40.0, "size_bytes": MiB, "limited_by": "latency"},
                   "parts": [{"resources": "node*.nic*", "cause": "busy", "time_us": 10.0},
                             {"resources": "", "cause": "kernel launch", "time_us": 30.0}]}
        page = self.page("blame", content)
        self.assertIn("75 %, 30 us", page.texts)
        self.assertIn("kernel launch", page.texts)


class AgreementTest(DrawnTest):
    def test_counts_what_is_within(self):
        page = self.page("agreement", comparison([(MiB, 100.0, 105.0, "within"),
                                                  (2 * MiB, 200.0, 300.0, "slower"),
                                                  (4 * MiB, 400.0, 400.0, "unjudged")]))
        self.assertIn("1 of 2 rows do.", page.all_text)
        self.assertIn("within 10 %?", page.all_text)
        for label in ("predicted, ± 10 % in time", "measured, within", "measured, outside",
                      "measured, not judged", "bus bandwidth (GB/s)", "message size (bytes)"):
            self.assertIn(label, page.texts)
        self.assertEqual(page.marks("measured"), 6)  # in both panels
        self.assertIn("1 size only measured.", page.all_text)

    def test_one_row_far_off(self):
        self.sheet("agreement", comparison([(8, 1.0, 1e6, "slower")], 5))


class LadderTest(DrawnTest):
    def test_names_the_rung_at_which_they_part(self):
        page = self.page("ladder", compared_ladder(
            {"link": (10.0, None, "not judged"), "host_pair": (20.0, 20.5, "within"),
             "ring_step": (40.0, 80.0, "slower")}, gap="ring_step"))
        self.assertIn("At the ring step.", page.all_text)
        # Half a MiB in 10 us; and, of the ring step, in 40 and in 80.
        for text in ("52.4", "13.1", "6.55 (2 times the time)", "25.6 (1.02 times the time)",
                     "pair write, host memory", "link", "1 MiB", "measured, within",
                     "measured, outside"):
            self.assertIn(text, page.texts)
        self.assertIn("tolerance 10 % in time", page.all_text)

    def test_none_and_unjudged(self):
        self.assertIn("At none.", self.page("ladder", compared_ladder(
            {"host_pair": (20.0, 20.5, "within")})).all_text)
        self.assertIn("No rung was judged.", self.page("ladder", compared_ladder(
            {"host_pair": (20.0, None, "not judged")})).all_text)

    def test_of_one_side(self):
        page = self.page("ladder", ladder({"link": 10.0, "gpu_pair": None}, "measured"))
        self.assertIn("What does each layer give sample by itself?", page.all_text)
        for text in ("measured", "52.4", "nobody sees it", "pair write, GPU memory"):
            self.assertIn(text, page.texts)


class TopologyTest(DrawnTest):
    def test_shares_nodes_out_as_the_placement_does(self):
        # 5 nodes over 2 leaves: the first takes what is left over.
        self.assertEqual([cluster_shape.share(i, 5, 2) for i in range(5)], [0, 0, 0, 1, 1])

    def test_draws_links_with_their_loads(self):
        uses = {"node0.nic0": 0.97, "node0.nic1": 0.4, "node1.nic0": 0.97, "node1.nic1": 0.4,
                "node0.gpu0.nvlink": 0.6, "node0.sw0": 0.8, "node0.gpu0.pcie": 0.3,
                "node0.socket_link": 0.2, "node0.socket1": 0.77, "leaf0-spine0": 0.55,
                "leaf1-spine0": 0.55, "node0.gpu0.memory": 1.0}
        page = self.page("topology", cluster_result(
            2, HGX_OF_TWO, {"topology": {"kind": "leaf_spine", "leaves": 2, "spines": 1}}, uses))
        self.assertIn("The busiest: node*.nic0 (2 equal), 97 % of the time.", page.all_text)
        for text in ("node0", "node1", "leaf0", "leaf1", "spine0", "gpu1", "nic1", "sw0",
                     "socket0", "socket1", "NVSwitch", "busy 77 %", "unused", "97 %", "60 %",
                     "80 %", "20 %", "55 %", "busy 50 to 75 %"):
            self.assertIn(text, page.texts)

    def test_leaves_in_a_ring(self):
        uses = {f"node{node}.nic0": 0.41 for node in range(4)}
        uses |= {f"leaf{leaf}-leaf{(leaf + 1) % 4}": 0.5 + 0.1 * leaf for leaf in range(4)}
        page = self.page("topology", cluster_result(
            4, {}, {"topology": {"kind": "ring", "leaves": 4}}, uses))
        for text in ("leaf0", "leaf3", "50 %", "60 %", "70 %", "80 %"):
            self.assertIn(text, page.texts)

    def test_many_nodes_and_none_of_the_scenario(self):
        uses = {f"node{node}.nic{nic}": 0.5 for node in range(200) for nic in range(8)}
        page = self.page("topology", cluster_result(200, {}, {"topology": {
            "kind": "rail_optimized"}}, uses))
        self.assertIn("node199", page.texts)
        self.assertIn("leaf7", page.texts)
        content = result({MiB: 1.0})
        content["scenario"] = {}
        self.sheet("topology", content)
