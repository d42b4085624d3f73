// What the doctor hears of GPUs from NVIDIA's management library, here a fake one.

#include <gmock/gmock.h>

#include <map>

#include "backends/doctor/examine_host.h"
#include "backends/host/nvml_reader.h"
#include "tests/backends/sample_machines.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

struct FakeGpu {
  std::string address;
  unsigned links = 18;
  std::vector<unsigned> inactive = {};
  std::uint64_t reasons = 0;
  std::uint64_t uncorrected = 0;
  std::map<unsigned, std::uint64_t> recoveries = {};  // by link
};

class FakeNvml final : public NvmlLibrary {
 public:
  explicit FakeNvml(std::vector<FakeGpu> gpus) : gpus_(std::move(gpus)) {}
  int device_count(unsigned& count) override {
    count = static_cast<unsigned>(gpus_.size());
    return kNvmlSuccess;
  }
  int device_by_index(unsigned index, NvmlDevice& device) override {
    device = &gpus_[index];
    return kNvmlSuccess;
  }
  int pci_bus_id(NvmlDevice device, std::string& address) override {
    address = gpu(device).address;
    return kNvmlSuccess;
  }
  int nvlink_active(NvmlDevice device, unsigned link, bool& active) override {
    const FakeGpu& of = gpu(device);
    if (link >= of.links) return kNvmlNotSupported;
    active = std::find(of.inactive.begin(), of.inactive.end(), link) == of.inactive.end();
    return kNvmlSuccess;
  }
  int nvlink_errors(NvmlDevice device, unsigned link, unsigned kind,
                    std::uint64_t& count) override {
    const FakeGpu& of = gpu(device);
    if (link >= of.links) return kNvmlNotSupported;
    const auto found = of.recoveries.find(link);
    count = kind == kNvmlRecoveryErrors && found != of.recoveries.end() ? found->second : 0;
    return kNvmlSuccess;
  }
  int throttle_reasons(NvmlDevice device, std::uint64_t& reasons) override {
    reasons = gpu(device).reasons;
    return kNvmlSuccess;
  }
  int uncorrected_errors(NvmlDevice device, std::uint64_t& count) override {
    count = gpu(device).uncorrected;
    return kNvmlSuccess;
  }
  int pcie_replays(NvmlDevice /*device*/, unsigned& count) override {
    count = 0;
    return kNvmlSuccess;
  }

 private:
  static FakeGpu& gpu(NvmlDevice device) { return *static_cast<FakeGpu*>(device); }
  std::vector<FakeGpu> gpus_;
};

NvmlOpener opener(const std::vector<FakeGpu>& gpus) {
  return [gpus](std::string& /*why_not*/) { return std::make_unique<FakeNvml>(gpus); };
}

class GpuStates : public testing::Test {
 protected:
  // Eight healthy GPUs as the library names them, with a longer domain and capitals.
  std::vector<FakeGpu> healthy() const {
    std::vector<FakeGpu> gpus;
    const HostInventory host = take_snapshot(HostTree(host_->root())).host;
    for (const int gpu : host.gpus) {
      std::string address = "0000" + host.pci[static_cast<std::size_t>(gpu)].address;
      for (char& c : address) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      gpus.push_back({.address = address});
    }
    return gpus;
  }
  HostCheckup look_at(const std::vector<FakeGpu>& gpus) const {
    return examine_host(take_snapshot(HostTree(host_->root()), opener(gpus)), nullptr, 0);
  }
  static std::vector<Finding> faults_of(const HostCheckup& checkup) {
    std::vector<Finding> faults;
    for (const Finding& finding : checkup.findings) {
      if (finding.severity != Severity::kFact) faults.push_back(finding);
    }
    return faults;
  }
  SampleHostPtr host_ = hgx_h100();
};

TEST_F(GpuStates, OfHealthyGpusAreNothingToTell) {
  const HostCheckup checkup = look_at(healthy());
  EXPECT_THAT(faults_of(checkup), testing::IsEmpty());
  EXPECT_THAT(checkup.unseen, Not(Contains(Field(&Unseen::file, HasSubstr("libnvidia-ml")))));
}

TEST_F(GpuStates, NameLinksThatOneGpuLacks) {
  std::vector<FakeGpu> gpus = healthy();
  gpus[5].inactive = {3, 11};
  const std::vector<Finding> faults = faults_of(look_at(gpus));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].id, "nvlink-inactive");
  EXPECT_THAT(faults[0].subject, HasSubstr("gpu5"));
  EXPECT_EQ(faults[0].seen, "16 of its NVLinks are active, of another GPU here 18");
  EXPECT_THAT(faults[0].evidence[0].text, HasSubstr("3 and 11"));
  EXPECT_THAT(faults[0].command, HasSubstr("nvidia-smi nvlink -s"));
}

TEST_F(GpuStates, TellAFabricThatIsNotSetUpFromLinksThatLeadNowhere) {
  std::vector<FakeGpu> gpus = healthy();
  for (FakeGpu& gpu : gpus) {
    for (unsigned link = 0; link < gpu.links; ++link) gpu.inactive.push_back(link);
  }
  const std::vector<Finding> faults = faults_of(look_at(gpus));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].id, "nvlink-no-fabric");
  EXPECT_THAT(faults[0].remedy, HasSubstr("nvidia-fabricmanager"));
  // Without switches nothing says that the links should lead anywhere.
  host_ = pcie_server();
  gpus = healthy();
  for (FakeGpu& gpu : gpus)
    gpu.inactive = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  EXPECT_THAT(faults_of(look_at(gpus)), testing::IsEmpty());
}

TEST_F(GpuStates, TellWhatSlowsAGpuDownAndWhatItsMemoryLost) {
  std::vector<FakeGpu> gpus = healthy();
  gpus[2].reasons = kNvmlHwThermal | kNvmlHwSlowdown | 1;  // 1: idle, which is no fault
  gpus[3].reasons = 1 | 4;                                 // at its power limit, as under load
  gpus[7].uncorrected = 2;
  const std::vector<Finding> faults = faults_of(look_at(gpus));
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].id, "gpu-slowed-down");
  EXPECT_THAT(faults[0].subject, HasSubstr("gpu2"));
  EXPECT_EQ(faults[0].seen, "its clocks are held down: too hot (hardware) and hardware slowdown");
  EXPECT_EQ(faults[1].id, "gpu-memory-errors");
  EXPECT_THAT(faults[1].seen, HasSubstr("2 errors of its memory could not be corrected"));
}

TEST_F(GpuStates, CountErrorsOfLinksWhileTheyAreWatched) {
  const HostTree tree(host_->root());
  std::vector<FakeGpu> gpus = healthy();
  const HostSnapshot first = take_snapshot(tree, opener(gpus));
  gpus[4].recoveries[9] = 6;
  const HostCheckup checkup = examine_host(take_snapshot(tree, opener(gpus)), &first, 1800);
  EXPECT_THAT(checkup.findings,
              Contains(AllOf(Field(&Finding::id, "counter-nvlink_recovery_errors"),
                             Field(&Finding::severity, Severity::kProblem),
                             Field(&Finding::subject, "gpu4 NVLink 9"),
                             Field(&Finding::seen, HasSubstr("grew by 6 in 30 min")),
                             Field(&Finding::seen, HasSubstr("12 an hour")),
                             Field(&Finding::command, HasSubstr("nvidia-smi nvlink -e -i ")))));
}

TEST_F(GpuStates, SayWhyTheyAreNotSeen) {
  const HostCheckup copied = examine_host(take_snapshot(HostTree(host_->root())), nullptr, 0);
  EXPECT_THAT(copied.unseen, Contains(AllOf(Field(&Unseen::file, "libnvidia-ml.so.1"),
                                            Field(&Unseen::reason, HasSubstr("copied tree")))));
  const HostCheckup without =
      examine_host(take_snapshot(HostTree(host_->root()),
                                 [](std::string& why_not) -> std::unique_ptr<NvmlLibrary> {
                                   why_not = "it can't be opened: no such file";
                                   return nullptr;
                                 }),
                   nullptr, 0);
  EXPECT_THAT(without.unseen, Contains(Field(&Unseen::reason, "it can't be opened: no such file")));
  const HostCheckup stranger = look_at({{.address = "00000000:FF:00.0"}});
  EXPECT_THAT(stranger.unseen, Contains(Field(&Unseen::reason, HasSubstr("knows none of the"))));
}

}  // namespace
}  // namespace gradhaul
