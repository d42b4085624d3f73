// Reading a machine: configuration spaces, distances, rates; counters over a watch; and trees that
// are damaged or hostile.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <random>

#include "backends/doctor/counter_meanings.h"
#include "backends/doctor/examine_host.h"
#include "backends/doctor/findings.h"
#include "backends/host/pci_reader.h"
#include "backends/host/pci_topology.h"
#include "tests/backends/sample_machines.h"

namespace gradhaul {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kDevices = "/sys/bus/pci/devices/";

HostCheckup look_at(const SampleHost& host) {
  return examine_host(take_snapshot(HostTree(host.root())), nullptr, 0);
}

// What is at fault, as ids.
std::vector<std::string> faults_of(const HostCheckup& checkup) {
  std::vector<std::string> ids;
  for (const Finding& finding : checkup.findings) {
    if (finding.severity != Severity::kFact) ids.push_back(finding.id);
  }
  return ids;
}

const Finding* find(const HostCheckup& checkup, const std::string& id) {
  for (const Finding& finding : checkup.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

// UCX's numbers (src/ucs/sys/topo/base/topo.c): 14.1, 28.2 and 56.4 GB/s for x16 at 256 bytes.
TEST(PcieRate, IsUcxs) {
  EXPECT_NEAR(pcie_payload_rate(8, 16, 256), 14.1, 0.05);
  EXPECT_NEAR(pcie_payload_rate(16, 16, 256), 28.2, 0.05);
  EXPECT_NEAR(pcie_payload_rate(32, 16, 256), 56.4, 0.05);
  EXPECT_NEAR(pcie_payload_rate(8, 16, 128), 12.8, 0.05);
}

TEST(PciConfig, IsReadAsTheStandardWritesIt) {
  const SamplePci nic = mellanox(0x1021, 0);
  const PciConfig config = parse_pci_config(
      config_bytes(nic, {.max_payload = 512, .max_read_request = 1024, .access_control = 0x1d}));
  ASSERT_TRUE(config.express);
  EXPECT_EQ(config.express->type, PciePortType::kEndpoint);
  EXPECT_EQ(config.express->max_payload, 512);
  EXPECT_EQ(config.express->max_read_request, 1024);
  EXPECT_TRUE(config.express->relaxed_ordering);
  ASSERT_TRUE(config.access_control);
  EXPECT_TRUE(config.access_control->redirects());
}

TEST(PciConfig, CutOffShowsLess) {
  const SamplePci nic = mellanox(0x1021, 0);
  const PciConfig header = parse_pci_config(config_bytes(nic, {.shown = 64}));
  EXPECT_FALSE(header.capabilities_shown);
  EXPECT_FALSE(header.express);
  const PciConfig legacy = parse_pci_config(config_bytes(nic, {.shown = 256}));
  EXPECT_TRUE(legacy.express);
  EXPECT_FALSE(legacy.extended_shown);
  // A device that fell off the bus reads as ones.
  EXPECT_FALSE(parse_pci_config(std::string(4096, '\xff')).express);
}

std::vector<std::optional<PcieDistance>> row_of(const SampleHost& host, int gpu) {
  return look_at(host).distances.of[static_cast<std::size_t>(gpu)];
}

constexpr auto kPix = PcieDistance::kSameSwitch;
constexpr auto kPxb = PcieDistance::kSameRootPort;
constexpr auto kPhb = PcieDistance::kSameSocket;
constexpr auto kSys = PcieDistance::kOtherSocket;

// As the layouts say: two NICs at a GPU's own switch, two at the socket's other, four at the other
// socket.
TEST(Distance, OfADgxA100) {
  const auto host = dgx_a100();
  EXPECT_THAT(row_of(*host, 0), ElementsAre(kPix, kPix, kPhb, kPhb, kSys, kSys, kSys, kSys));
  EXPECT_THAT(row_of(*host, 7), ElementsAre(kSys, kSys, kSys, kSys, kPhb, kPhb, kPix, kPix));
}

TEST(Distance, BelowSwitchesInARow) {
  const auto host = pcie_server();
  EXPECT_THAT(row_of(*host, 0), ElementsAre(kPix));
  EXPECT_THAT(row_of(*host, 3), ElementsAre(kPxb));
}

TEST(Distance, IsTheSameWithoutRootsRights) {
  EXPECT_EQ(look_at(*unprivileged()).distances.of, look_at(*hgx_h100()).distances.of);
}

TEST(Distance, OfAGuestIsNotGuessed) {
  const auto host = cloud_vm();
  const HostCheckup checkup = look_at(*host);
  for (const auto& distance : checkup.distances.of[0]) EXPECT_FALSE(distance);
  ASSERT_FALSE(checkup.unseen.empty());
  EXPECT_THAT(checkup.unseen.front().what, HasSubstr("how far gpu0"));
}

std::vector<std::string> unseen_of(const HostCheckup& checkup) {
  std::vector<std::string> what;
  for (const Unseen& each : checkup.unseen) {
    EXPECT_FALSE(each.reason.empty()) << each.what;
    EXPECT_FALSE(each.takes.empty()) << each.what;
    what.push_back(each.what);
  }
  return what;
}

TEST(Unseen, SaysWhatRootWouldSee) {
  EXPECT_THAT(unseen_of(look_at(*unprivileged())), Contains(HasSubstr("ACS of bridges")));
  EXPECT_THAT(unseen_of(look_at(*hgx_h100())), testing::Not(Contains(HasSubstr("ACS"))));
}

TEST(Unseen, NamesAPortWhoseStateIsNotReadable) {
  const auto host = hgx_h100();
  host->write("/sys/class/infiniband/mlx5_3/ports/1/state", "");
  const HostCheckup checkup = look_at(*host);
  EXPECT_THAT(faults_of(checkup), IsEmpty());
  EXPECT_THAT(unseen_of(checkup), Contains("the state of mlx5_3 port 1"));
}

TEST(Gpudirect, ThroughDmaBufNeedsTheOpenDriver) {
  const auto host = hgx_h100();
  host->write("/proc/modules", "nvidia 1 0 - Live 0x0\n");
  host->write("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15\n");
  EXPECT_THAT(faults_of(look_at(*host)), IsEmpty());
  EXPECT_NE(find(look_at(*host), "gpudirect-dmabuf"), nullptr);
  host->write("/proc/sys/kernel/osrelease", "5.4.0-150-generic\n");
  EXPECT_THAT(faults_of(look_at(*host)), ElementsAre("gpudirect-missing"));
}

HostCheckup watch(SampleHost& host, double seconds, const std::function<void()>& meanwhile) {
  const HostTree tree(host.root());
  const HostSnapshot first = take_snapshot(tree);
  meanwhile();
  return examine_host(take_snapshot(tree), &first, seconds);
}

TEST(Watch, GivesRatesOfWhatGrew) {
  const auto host = hgx_h100();
  const std::string counters = "/sys/class/infiniband/mlx5_2/ports/1/";
  host->write(counters + "counters/symbol_error", "100\n");
  const HostCheckup checkup = watch(*host, 600, [&] {
    host->write(counters + "counters/symbol_error", "112\n");
    host->write(counters + "hw_counters/np_cnp_sent", "5\n");
    // 75e9 words of 4 bytes in 600 s: 500 MB/s.
    host->write(counters + "counters/port_xmit_data", "75000000000\n");
  });
  EXPECT_THAT(faults_of(checkup), ElementsAre("counter-symbol_error", "counter-np_cnp_sent"));
  const Finding* grown = find(checkup, "counter-symbol_error");
  EXPECT_EQ(grown->severity, Severity::kProblem);
  EXPECT_THAT(grown->seen, HasSubstr("grew by 12 in 10 min"));
  EXPECT_THAT(grown->seen, HasSubstr("72 an hour"));
  EXPECT_THAT(find(checkup, "port-traffic")->seen, HasSubstr("sent 0.5 GB/s"));
}

TEST(Watch, BoundsWhatWasNotSeen) {
  const auto host = pcie_server();
  const HostCheckup checkup = watch(*host, 3600, [] {});
  EXPECT_THAT(faults_of(checkup), IsEmpty());
  EXPECT_THAT(find(checkup, "counters-quiet")->why, HasSubstr("3 an hour (rule of three)"));
  const HostCheckup shorter = watch(*host, 60, [] {});
  EXPECT_THAT(find(shorter, "counters-quiet")->why, HasSubstr("180 an hour"));
}

TEST(Watch, AResetIsNoGrowth) {
  const auto host = pcie_server();
  const std::string file = "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error";
  host->write(file, "100\n");
  const HostCheckup checkup = watch(*host, 60, [&] { host->write(file, "3\n"); });
  EXPECT_THAT(faults_of(checkup), IsEmpty());
  EXPECT_THAT(find(checkup, "counter-symbol_error")->seen, HasSubstr("reset"));
}

TEST(Watch, AQueuePairThatStaysIsAProblem) {
  const auto host = hgx_h100();
  const std::string pair = "/sys/kernel/debug/mlx5/0000:14:00.0/QPs/0x1a2";
  host->write(pair + "/state", "RST\n");
  host->write(pair + "/pid", "4711\n");
  host->write("/proc/4711/comm", "python3\n");
  const HostCheckup stays = watch(*host, 60, [] {});
  EXPECT_THAT(faults_of(stays), ElementsAre("qp-stuck"));
  EXPECT_EQ(find(stays, "qp-stuck")->severity, Severity::kProblem);
  EXPECT_THAT(find(stays, "qp-stuck")->seen, HasSubstr("python3, pid 4711"));
  const HostCheckup moves = watch(*host, 60, [&] { host->write(pair + "/state", "RTS\n"); });
  EXPECT_THAT(faults_of(moves), IsEmpty());
}

TEST(Counters, OfADriverAreReadFromWhatEthtoolPrints) {
  const auto counters = parse_driver_counters(
      "NIC statistics:\n     rx_prio3_pause: 17\n     bad line\n     rx_x: many\n");
  ASSERT_EQ(counters.size(), 1U);
  EXPECT_EQ(counters[0].name, "rx_prio3_pause");
  EXPECT_EQ(counters[0].value, 17U);
  EXPECT_NE(counter_meaning("tx_prio7_pause"), nullptr);
  EXPECT_EQ(counter_meaning("tx_priox_pause"), nullptr);
}

TEST(HostTree, NeverLeavesItsRoot) {
  const auto host = workstation();
  std::ofstream(host->root() + "_secret") << "secret\n";
  std::filesystem::create_symlink(host->root() + "_secret", host->root() + "/sys/absolute");
  std::filesystem::create_symlink(
      "../../" + std::filesystem::path(host->root()).filename().string() + "_secret",
      host->root() + "/sys/relative");
  std::filesystem::create_symlink("loop", host->root() + "/sys/loop");
  const HostTree tree(host->root());
  for (const char* file : {"/sys/absolute", "/sys/relative", "/sys/loop", "/../x", ""}) {
    EXPECT_FALSE(tree.read(file).read()) << file;
  }
  std::filesystem::remove(host->root() + "_secret");
}

TEST(HostTree, WaitsForNoPipe) {
  const auto host = workstation();
  ASSERT_EQ(mkfifo((host->root() + "/sys/pipe").c_str(), 0600), 0);
  EXPECT_EQ(HostTree(host->root()).read("/sys/pipe").status, ReadStatus::kUseless);
}

TEST(HostTree, ListsInTheOrderOfNumbers) {
  const auto host = workstation();
  for (const char* name : {"state10", "state2", "state1", "a"}) {
    host->write(std::string("/sys/list/") + name, "");
  }
  EXPECT_THAT(HostTree(host->root()).list("/sys/list"),
              ElementsAre("a", "state1", "state2", "state10"));
}

// Two bridges, each within the other, as no machine has them.
TEST(HostTree, ACircleOfBridgesEnds) {
  const auto host = workstation();
  const SamplePci bridge{0x060400, 0x8086, 0x352a, 0, "", kGen4, 16, 5};
  for (const auto& [outer, inner] :
       {std::pair{"0000:70:00.0", "0000:71:00.0"}, std::pair{"0000:71:00.0", "0000:70:00.0"}}) {
    host->pci(std::string("/sys/devices/pci0000:70/") + outer, inner, bridge);
  }
  host->pci("/sys/devices/pci0000:70/0000:71:00.0/0000:70:00.0", "0000:72:00.0", nvidia(0x2330, 0));
  EXPECT_EQ(look_at(*host).distances.gpus.size(), 2U);
}

std::vector<std::string> files_of(const SampleHost& host) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(host.root())) {
    if (entry.is_regular_file() && !entry.is_symlink()) {
      files.push_back(entry.path().string().substr(host.root().size()));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

enum class Damage { kEmpty, kGarbage, kFolder, kMissing, kCut };

void damage(SampleHost& host, const std::string& file, Damage how, std::mt19937& random) {
  const std::string path = host.root() + file;
  switch (how) {
    case Damage::kEmpty:
      host.write(file, "");
      break;
    case Damage::kGarbage: {
      std::string bytes(300, '\0');
      for (char& c : bytes) c = static_cast<char>(random());
      bytes[0] = '\x01';
      host.write(file, bytes);
      break;
    }
    case Damage::kFolder:
      std::filesystem::remove(path);
      std::filesystem::create_directory(path);
      break;
    case Damage::kMissing:
      std::filesystem::remove(path);
      break;
    case Damage::kCut:
      std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
      break;
  }
}

// What cannot be read leads to no finding: nothing is guessed.
class DamagedFile : public testing::TestWithParam<std::pair<const char*, Damage>> {};

TEST_P(DamagedFile, LeadsToNoFinding) {
  const auto host = roce_bond();
  std::mt19937 random(1);
  for (const std::string& file : files_of(*host)) {
    std::ifstream stream(host->root() + file, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(stream), {}};
    damage(*host, file, GetParam().second, random);
    EXPECT_THAT(faults_of(look_at(*host)), IsEmpty()) << file;
    host->remove(file);
    host->write(file, whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, DamagedFile,
                         testing::Values(std::pair{"empty", Damage::kEmpty},
                                         std::pair{"garbage", Damage::kGarbage},
                                         std::pair{"folder", Damage::kFolder},
                                         std::pair{"missing", Damage::kMissing}),
                         [](const auto& each) { return std::string(each.param.first); });

// Many at once, cut ones too, whose halves may say anything: whatever comes out, it comes to an
// end.
TEST(DamagedTree, IsSurvived) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const auto host = seed % 2 == 0 ? roce_bond() : amd_host();
    std::mt19937 random(seed);
    for (const std::string& file : files_of(*host)) {
      if (random() % 4 == 0) damage(*host, file, static_cast<Damage>(random() % 5), random);
    }
    const HostCheckup checkup = watch(*host, 60, [&] {
      for (const std::string& file : files_of(*host)) {
        if (random() % 8 == 0) damage(*host, file, static_cast<Damage>(random() % 5), random);
      }
    });
    EXPECT_FALSE(checkup.items.empty());
  }
}

TEST(DamagedTree, OfNothingTellsThatNothingIsSeen) {
  const auto host = workstation();
  host->remove("/sys/bus");
  host->remove("/sys/devices");
  host->remove("/proc");
  const HostCheckup checkup = look_at(*host);
  EXPECT_THAT(faults_of(checkup), IsEmpty());
  EXPECT_THAT(unseen_of(checkup), Contains("PCI devices"));
  EXPECT_THAT(unseen_of(checkup), Contains("processors and sockets"));
}

}  // namespace
}  // namespace gradhaul
