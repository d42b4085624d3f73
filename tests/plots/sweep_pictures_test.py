"""Pictures of sweeps: maps, lines, and who is fastest where."""

from drawn import DrawnTest
from sample_files import KiB, MiB, result, sweep


def of(ranks, algorithm, times):
    """Of a sweep's points the scenario is that of the sweep."""
    return result(times, algorithm=algorithm, ranks=ranks) | {"scenario": {}}


class HeatMapTest(DrawnTest):
    def test_a_map_of_two_keys_with_what_failed(self):
        # busbw is size / time: 1 MiB in 1048.576 us is 1 GB/s.
        page = self.page("heat-map", sweep(
            {"cluster.nodes": ["2", "4"], "cluster.network.mtu": ["1024B", "4096B"]},
            {("2", "1024B"): {MiB: 1048.576}, ("2", "4096B"): {MiB: 524.288},
             ("4", "1024B"): {MiB: 262.144}, ("4", "4096B"): "no such cable"}))
        self.assertIn("Which gives the most bus bandwidth? With nodes 4, mtu 1024B: 4 GB/s.",
                      page.all_text)
        for text in ("1", "2", "4", "failed: 1", "cluster.nodes (number)", "cluster.network.mtu",
                     "bus bandwidth (GB/s)", "First of the errors: no such cable"):
            self.assertIn(text, page.texts)
        self.assertEqual((page.boxes("done"), page.boxes("failed"), page.boxes("missing")),
                         (3, 1, 0))
        self.assertNotIn("not run", page.all_text)

    def test_a_line_over_one_key(self):
        page = self.page("heat-map", sweep(
            {"cluster.nodes": ["2", "4", "8"]},
            {("2",): {MiB: 100.0}, ("4",): "failed", ("8",): {MiB: 50.0}}),
            options=["--metric", "time"])
        self.assertIn("Which takes the least time? With nodes 8: 50 us.", page.texts)
        self.assertIn("cluster.nodes (number)", page.texts)
        self.assertEqual(page.marks("points"), 2)

    def test_sizes_are_an_axis_and_a_third_key_makes_panels(self):
        points = {(nodes, algorithm): {KiB: 1.0, MiB: 100.0}
                  for nodes in "248" for algorithm in ("ring", "tree")}
        content = sweep({"cluster.nodes": "248", "communication.algorithm": ["ring", "tree"]},
                        points)
        page = self.page("heat-map", content)
        self.assertIn("algorithm ring", page.texts)
        self.assertIn("algorithm tree", page.texts)
        self.assertIn("message size (bytes)", page.texts)
        page = self.page("heat-map", content,
                         options=["--where", "communication.algorithm=ring"])
        self.assertNotIn("algorithm tree", page.texts)
        self.assertIn("communication.algorithm ring", page.all_text)

    def test_a_training_step_has_its_time_alone(self):
        points = {}
        for nodes, time in (("2", 900.0), ("4", 500.0)):
            points[(nodes,)] = {"training_step": {"time_us": time}, "rows": []}
        page = self.page("heat-map", sweep({"cluster.nodes": "24"}, points))
        self.assertIn("Which takes the least time? With nodes 4: 500 us.", page.all_text)

    def test_steps_side_by_side(self):
        points = {}
        for nodes, exposed in (("2", 300.0), ("4", 100.0)):
            stage = {"compute_us": 600.0, "slowed_us": 50.0, "exposed_us": exposed,
                     "idle_us": 0.0}
            less = stage | {"exposed_us": 0.0, "idle_us": exposed}
            points[(nodes,)] = {"rows": [], "training_step": {"time_us": 650.0 + exposed,
                                                             "stages": [less, stage]}}
        page = self.page("auto", sweep({"cluster.nodes": "24"}, points))
        self.assertIn("Which step waits least for communication? With nodes 4: 100 us of 750 us.",
                      page.all_text)
        for text in ("nodes 2", "nodes 4", "300 us exposed", "time of a step (us)", "compute",
                     "communication, exposed: compute waits"):
            self.assertIn(text, page.texts)
        # Three parts of each bar; no stage that is shown waits for another.
        self.assertEqual([page.boxes(f"part{place}") for place in (0, 1)], [3, 3])
        self.assertNotIn("pipeline", page.all_text)
        said = self.complaint("step-bars", sweep({"cluster.nodes": "2"}, {("2",): {MiB: 1.0}}))
        self.assertIn("holds no training step", said)

    def test_wide_and_ugly(self):
        values = [f"a-rather-long-value-of-some-key-{i}" for i in range(40)]
        self.sheet("heat-map", sweep(
            {"cluster.network.name": values, "cluster.nodes": [str(i) for i in range(16)]},
            {(value, str(i)): {MiB: 1.0 + i} for value in values for i in range(0, 16, 2)}))
        self.sheet("heat-map", sweep({"cluster.nodes": ["2"]}, {("2",): {MiB: 1.0}}))
        self.sheet("heat-map", sweep({"cluster.network.name": values},
                                     {(value,): {MiB: 1.0} for value in values}))

    def test_says_what_to_choose_of_too_many_panels(self):
        values = [str(i) for i in range(9)]
        said = self.complaint("heat-map", sweep(
            {"a.x": values, "a.y": values, "a.z": values},
            {(x, y, z): {MiB: 1.0} for x in values for y in values for z in values}))
        self.assertIn("would take 9 maps, at most 6 can be read; choose with --where, as --where "
                      "a.z=0", said)
        said = self.complaint("heat-map", sweep({"a.x": "12"}, {("1",): {MiB: 1.0}}),
                              options=["--where", "a.x=3"])
        self.assertIn("--where a.x=3: a.x takes these values in 0.json: 1, 2", said)


class AlgorithmMapTest(DrawnTest):
    def test_says_who_is_ahead_and_where_that_changes(self):
        # On 4 ranks the tree is ahead by 4 at 1 KiB and behind by 4 at 4 KiB: even at 2 KiB.
        page = self.page("algorithm-map",
                         of(4, "ring", {KiB: 40.0, 4 * KiB: 50.0}),
                         of(4, "tree", {KiB: 10.0, 4 * KiB: 200.0}),
                         of(8, "ring", {KiB: 80.0, 4 * KiB: 90.0}),
                         of(8, "tree", {KiB: 8.0, 4 * KiB: 90.0}))
        self.assertIn("Is ring or tree faster, at which size, on how many ranks?", page.texts)
        for text in ("ring", "tree", "equal", "4.00", "10.0", "1.00", "1 KiB", "4 KiB",
                     "ranks (number)", "message size (bytes)"):
            self.assertIn(text, page.texts)
        self.assertEqual(page.texts.count("4.00"), 2)
        self.assertEqual(len(page.groups("cell")), 4)
        self.assertEqual(len(page.groups("crossover")), 1)

    def test_of_a_sweep_with_a_hole(self):
        # What varies is no property of all: "9 x flat" of the scenario is not said.
        # The map is what suits a sweep of algorithms and nodes.
        page = self.page("auto", sweep(
            {"communication.algorithm": ["ring", "tree"], "cluster.nodes": ["2", "4"]},
            {("ring", "2"): of(2, "ring", {KiB: 1.0, MiB: 9.0}),
             ("tree", "2"): of(2, "tree", {KiB: 2.0, MiB: 5.0}),
             ("ring", "4"): of(4, "ring", {KiB: 2.0}), ("tree", "4"): "failed"}))
        self.assertNotIn(" x flat", page.all_text)
        self.assertIn("Is ring or tree faster, at which size, on how many ranks?", page.texts)

    def test_takes_two_algorithms(self):
        self.assertIn("0.json: is of one algorithm alone, ring; a map takes two or more",
                      self.complaint("algorithm-map", result({MiB: 1.0})))
