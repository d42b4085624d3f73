// Scenarios with random damage: whatever the damage, the answer is a scenario or a list of problems
// with their places; never a crash, never another exception.

#include <gmock/gmock.h>

#include <array>
#include <cstdint>

#include "scenarios/references.h"
#include "scenarios/topology_drawing.h"
#include "scenarios/topology_summary.h"
#include "tests/damaged_text.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

constexpr std::array<std::string_view, 33> kScraps{
    "{",    "}",    "[",   "]",    ":",    ": ",           ",",   "\n",        "\n  ",
    "- ",   "#",    " #",  "\"",   "'",    "&a ",          "*a",  "!x ",       "|",
    ">",    "\t",   "0",   "-1",   "1e99", "999999999999", "GiB", "unlimited", "none",
    "auto", "gpu0", "sw0", "\xff", "? ",   "---\n"};

std::string damaged(std::string text, DamageDraws& draws) {
  const std::size_t wounds = 1 + draws.below(4);
  for (std::size_t i = 0; i < wounds && !text.empty(); ++i) {
    const std::size_t at = draws.below(text.size());
    switch (draws.below(5)) {
      case 0:
        text.erase(at, 1 + draws.below(20));
        break;
      case 1:
        text.insert(at, kScraps[draws.below(kScraps.size())]);
        break;
      case 2:
        text.insert(at, text.substr(draws.below(text.size()), 1 + draws.below(60)));
        break;
      case 3:
        text[at] = static_cast<char>(draws.below(256));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

// Reads it and, where it is good after all, does what a program would do with it.
void read_and_use(const std::string& path, const std::vector<std::string>& settings) {
  try {
    const Scenario scenario = read_scenario({path, settings, GRADHAUL_SCENARIOS});
    EXPECT_FALSE(scenario.effective().dump().empty());
    EXPECT_FALSE(commented_yaml(scenario.filled).empty());
    if (scenario.cluster.ranks() > 512) return;
    EXPECT_FALSE(topology_summary(scenario).empty());
    EXPECT_FALSE(topology_dot(scenario.cluster).empty());
  } catch (const ConfigError& error) {
    EXPECT_FALSE(error.problems().empty());
    for (const Problem& problem : error.problems()) {
      EXPECT_FALSE(problem.location.source.empty());
      EXPECT_FALSE(problem.message.empty());
      EXPECT_LT(problem.text().size(), 4000U);
    }
  }
}

TEST(Fuzz, DamagedScenariosAreReported) {
  DamageDraws draws(1);
  const std::string path = temporary_file("scenario.yaml");
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("")) {
    // All of it in one file: nodes, networks and devices too.
    const std::string whole = commented_yaml(read_file_with(name).scenario.filled);
    for (int i = 0; i < 120; ++i) {
      const std::string text = damaged(whole, draws);
      SCOPED_TRACE(name + " " + std::to_string(i));
      write_text(path, text);
      ASSERT_NO_THROW(read_and_use(path, {})) << text;
    }
  }
}

// Short texts hit the keys of the outer levels more often.
TEST(Fuzz, DamagedSmallScenariosAreReported) {
  DamageDraws draws(2);
  const std::string path = temporary_file("scenario.yaml");
  const std::string text = std::string(kSmallScenario) +
                           "communication: {ring_order: balanced, channels: 8, slot_size: 1MiB}\n"
                           "expect: {busbw: \">=1GB/s\", limited_by: nic}\n";
  for_seeds(1500, [&](std::uint64_t i) {
    write_text(path, damaged(text, draws));
    EXPECT_NO_THROW(read_and_use(path, {})) << i << "\n" << text_of(path);
    return !testing::Test::HasFailure();
  });
}

TEST(Fuzz, DamagedSettingsAreReported) {
  DamageDraws draws(3);
  const std::string path = temporary_file("scenario.yaml");
  write_text(path, kSmallScenario);
  const std::vector<std::string> settings{
      "cluster.node.pcie_settings.tags=32",
      "workload.size=[1MiB, 2GiB]",
      "cluster.network.topology={kind: leaf_spine, switch_ports: 32, leaves: 4, spines: 2}",
      "cluster.node.pcie.0={switch: sw0, parent: socket0, link: gen5x16, devices: [gpu0, nic0]}",
      "communication.ring_order=[[0, 1, 2], [2, 1, 0]]",
      "workload.training_step={model: dlrm, micro_batch: 16, buckets: {size: 25MiB}}",
      "workload.training_step.parallel={tensor: 2, pipeline: 4}",
      "cluster.nodes=3"};
  for (int i = 0; i < 1500; ++i) {
    const std::string a = damaged(settings[draws.below(settings.size())], draws);
    const std::string b = damaged(settings[draws.below(settings.size())], draws);
    ASSERT_NO_THROW(read_and_use(path, {a, b})) << a << "\n" << b;
  }
}

}  // namespace
}  // namespace gradhaul
