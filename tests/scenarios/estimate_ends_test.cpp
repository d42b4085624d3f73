// Which estimates predict --uncertainty tries, and between what.

#include "scenarios/estimate_ends.h"

#include <algorithm>

#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

bool tries(const std::string& key, const std::vector<std::string>& settings) {
  const std::vector<EstimateEnds> ends = estimate_ends(good(kSmallScenario, settings), {});
  return std::any_of(ends.begin(), ends.end(),
                     [&](const EstimateEnds& end) { return end.key == key; });
}

TEST(EstimateEnds, OfWhatIsOffAreNotTried) {
  const std::string pcie = "cluster.node.pcie_settings.";
  for (const char* key : {"iotlb_miss", "iotlb_page", "page_walks"}) {
    EXPECT_FALSE(tries(pcie + key, {})) << key;
    EXPECT_TRUE(tries(pcie + key, {pcie + "iommu=true"})) << key;
  }
  EXPECT_FALSE(tries(pcie + "ordered_writes", {}));
  EXPECT_TRUE(tries(pcie + "ordered_writes", {pcie + "relaxed_ordering=false"}));
  const std::string fetch = "cluster.node.nics.model.context_fetch";
  EXPECT_FALSE(tries(fetch, {}));
  EXPECT_TRUE(tries(fetch, {"cluster.node.nics.model.qp_cache=4"}));
  EXPECT_FALSE(tries("cluster.node.nics.model.qp_setup", {})) << "before what is timed";
  EXPECT_FALSE(tries("communication.registration_hit", {}));
  EXPECT_TRUE(tries("communication.registration_hit", {"communication.registration=cached"}));
  const std::string faults = "cluster.faults=[{link: node0.nic0, bit_error_rate: 1e-12}]";
  EXPECT_FALSE(tries("communication.timeout", {}));
  EXPECT_TRUE(tries("communication.timeout", {faults}));
  EXPECT_FALSE(tries("communication.timeout", {faults, "communication.timeout=14"})) << "known";
}

// Spreads that are published: a NIC's vendor and UCX say between what it lies.
TEST(EstimateEnds, AreThoseThatArePublished) {
  const Scenario scenario =
      good(kSmallScenario, {"cluster.node.nics.model.qp_cache=4", "communication.gpudirect=off",
                            "communication.registration=per_transfer",
                            "cluster.faults=[{link: node0.nic0, bit_error_rate: 1e-12}]",
                            "cluster.node.pcie_settings.iommu=true"});
  const std::vector<EstimateEnds> ends = estimate_ends(scenario, {});
  const auto expect = [&](const std::string& key, const char* low, const char* high) {
    const auto found = std::find_if(ends.begin(), ends.end(),
                                    [&](const EstimateEnds& end) { return end.key == key; });
    ASSERT_NE(found, ends.end()) << key;
    EXPECT_EQ(found->low, low) << key;
    EXPECT_EQ(found->high, high) << key;
    EXPECT_FALSE(found->assumed) << key;
  };
  expect("cluster.node.gpus.model.copy_setup", "6us", "10us");
  expect("cluster.node.nics.model.post", "40ns", "75ns");
  expect("cluster.node.nics.model.message_rate", "330e6", "370e6");
  expect("cluster.node.nics.model.context_fetch", "550ns", "900ns");
  expect("cluster.node.pcie_settings.iotlb_page", "4KiB", "2MiB");
  expect("communication.timeout", "20", "22");
  expect("communication.deregistration", "0.3", "0.6");
}

}  // namespace
}  // namespace gradhaul
