// Keys that change nothing are said to do so, by what would give them an effect.

#include "scenarios/idle_keys.h"

#include <gmock/gmock.h>

#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

auto told(const std::string& key, const std::string& needed) {
  return Contains(
      AllOf(HasSubstr(key), HasSubstr("has no effect here"), HasSubstr("only with " + needed)));
}

std::vector<std::string> notes(const std::vector<std::string>& settings) {
  return good(kSmallScenario, settings).model_notes;
}

TEST(IdleKeys, OfRdmaAreToldUnderTcp) {
  for (const char* setting : {"flush=on", "blue_flame=64B", "page_size=4KiB",
                              "registration_base=1us", "registration_page=1ns", "timeout=14",
                              "retry=3", "rnr_timer=1", "rnr_retry=1", "traffic_class=106"}) {
    const std::string key = std::string("communication.") + setting;
    const auto needs_rdma = told(key.substr(0, key.find('=')), "communication.transport: rdma");
    EXPECT_THAT(notes({"cluster.network=ethernet", "communication.transport=tcp", key}),
                needs_rdma);
    EXPECT_THAT(notes({key}), Not(needs_rdma));
  }
  EXPECT_THAT(notes({"cluster.network=ethernet", "communication.transport=tcp"}),
              Not(Contains(HasSubstr("no effect"))));
}

TEST(IdleKeys, OfWhatIsOffAreTold) {
  const std::string pcie = "cluster.node.pcie_settings.";
  const std::string nic = "cluster.node.nics.model.";
  for (const std::string& key :
       {pcie + "iotlb_miss=1us", pcie + "iotlb_page=2MiB", pcie + "page_walks=4"}) {
    const auto needs_iommu = told(key.substr(0, key.find('=')), pcie + "iommu: true");
    EXPECT_THAT(notes({key}), needs_iommu);
    EXPECT_THAT(notes({key, pcie + "iommu=true"}), Not(needs_iommu));
  }
  const auto needs_order = told(pcie + "ordered_writes", pcie + "relaxed_ordering: false");
  EXPECT_THAT(notes({pcie + "ordered_writes=9GB/s"}), needs_order);
  EXPECT_THAT(notes({pcie + "ordered_writes=9GB/s", pcie + "relaxed_ordering=false"}),
              Not(needs_order));
  const auto needs_cache = told(nic + "context_fetch", "transport: rdma and a qp_cache");
  EXPECT_THAT(notes({nic + "context_fetch=1us"}), needs_cache);
  EXPECT_THAT(notes({nic + "context_fetch=1us", nic + "mr_cache=8"}), Not(needs_cache));
  const auto needs_credits = told("cluster.network.credit_return", "an InfiniBand network");
  EXPECT_THAT(notes({"cluster.network=roce", "cluster.network.credit_return=900us"}),
              needs_credits);
  EXPECT_THAT(notes({"cluster.network.credit_return=900ns"}), Not(needs_credits));
}

// As a scenario with every value filled in does, or a result that stands for one.
TEST(IdleKeys, WithTheirUsualValuesAreNotTold) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{},
        {"cluster.network=roce"},
        {"cluster.network=ethernet", "communication.transport=tcp"},
        {"cluster.network=ethernet", "communication.transport=tcp",
         "communication={profile: nccl-2.30, algorithm: ring, protocol: simple}"}}) {
    const Scenario scenario = good(kSmallScenario, settings);
    EXPECT_THAT(good(commented_yaml(scenario.filled)).model_notes,
                Not(Contains(HasSubstr("no effect"))));
  }
}

// Files of devices and networks say whatever is known of them.
TEST(IdleKeys, OfFilesAreNotTold) {
  EXPECT_THAT(notes({"cluster.network=ethernet", "communication.transport=tcp",
                     "cluster.network.link=100Gb/s"}),
              Not(Contains(HasSubstr("no effect"))));
  EXPECT_THAT(notes({"cluster.node=ideal", "cluster.network=ideal", "cluster.nodes=2"}),
              Not(Contains(HasSubstr("no effect"))));
}

}  // namespace
}  // namespace gradhaul
