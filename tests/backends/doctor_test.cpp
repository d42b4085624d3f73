// Machines of many kinds: nothing is found on healthy ones; each planted fault is found, under its
// name, and nothing else is.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/doctor/examine_host.h"
#include "tests/backends/sample_machines.h"

namespace gradhaul {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Found = std::map<std::string, std::pair<Severity, std::set<std::string>>>;

// What is wrong, by name: how bad, and with what.
Found faults_of(const HostCheckup& checkup) {
  Found found;
  for (const Finding& finding : checkup.findings) {
    if (finding.severity == Severity::kFact) continue;
    found[finding.id].first = finding.severity;
    found[finding.id].second.insert(finding.subject);
    EXPECT_FALSE(finding.seen.empty()) << finding.id;
    EXPECT_FALSE(finding.why.empty()) << finding.id;
    EXPECT_FALSE(finding.remedy.empty()) << finding.id;
    EXPECT_FALSE(finding.command.empty()) << finding.id;
    EXPECT_FALSE(finding.evidence.empty()) << finding.id;
  }
  return found;
}

HostCheckup look_at(const SampleHost& host) {
  return examine_host(take_snapshot(HostTree(host.root())), nullptr, 0);
}

struct Machine {
  const char* name;
  SampleHostPtr (*make)();
  std::size_t gpus;
  std::size_t nics;
};

class HealthyMachine : public testing::TestWithParam<Machine> {};

TEST_P(HealthyMachine, HasNothingFound) {
  const auto host = GetParam().make();
  const HostCheckup checkup = look_at(*host);
  for (const auto& [id, what] : faults_of(checkup)) {
    ADD_FAILURE() << id << " of " << *what.second.begin();
  }
  EXPECT_EQ(checkup.distances.gpus.size(), GetParam().gpus);
  EXPECT_EQ(checkup.distances.nics.size(), GetParam().nics);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, HealthyMachine,
    testing::Values(Machine{"dgx_a100", dgx_a100, 8, 8}, Machine{"hgx_h100", hgx_h100, 8, 8},
                    Machine{"hgx_h200_roce", hgx_h200_roce, 8, 8},
                    Machine{"hgx_b200", hgx_b200, 8, 8}, Machine{"pcie_server", pcie_server, 4, 1},
                    Machine{"dual_socket", dual_socket_good, 2, 1},
                    Machine{"workstation", workstation, 1, 1}, Machine{"amd_host", amd_host, 4, 4},
                    Machine{"roce_bond", roce_bond, 2, 1}, Machine{"broadcom", broadcom_host, 1, 1},
                    Machine{"cloud_vm", cloud_vm, 8, 8},
                    Machine{"unprivileged", unprivileged, 8, 8}),
    [](const auto& each) { return std::string(each.param.name); });

struct Fault {
  const char* id;
  Severity severity;
  std::set<std::string> subjects;
  SampleHostPtr (*make)();
  void (*plant)(SampleHost&);
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.id; }

class PlantedFault : public testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsFoundAndNothingElse) {
  const Fault& fault = GetParam();
  const auto host = fault.make();
  fault.plant(*host);
  const Found expected{{fault.id, {fault.severity, fault.subjects}}};
  EXPECT_EQ(faults_of(look_at(*host)), expected);
}

constexpr Severity kP = Severity::kProblem;
constexpr Severity kW = Severity::kWarning;
const std::string kDevices = "/sys/bus/pci/devices/";
const std::string kRdma = "/sys/class/infiniband/";
const std::string kPort0 = kRdma + "mlx5_0/ports/1";

void set_port(SampleHost& host, const char* state, const char* physical) {
  host.write(kPort0 + "/state", std::string(state) + "\n");
  host.write(kPort0 + "/phys_state", std::string(physical) + "\n");
}

void write_config(SampleHost& host, const std::string& address, const SamplePci& pci,
                  const SampleConfig& config) {
  host.write(kDevices + address + "/config", config_bytes(pci, config));
}

// GIDs of the first port, other than they are.
void set_types(SampleHost& host, const char* type) {
  for (const char* index : {"0", "1", "2", "3"}) {
    host.write(kPort0 + "/gid_attrs/types/" + index, std::string(type) + "\n");
  }
}

const std::vector<Fault> kPortFaults{
    {"port-no-subnet-manager",
     kP,
     {"mlx5_0 port 1"},
     hgx_h100,
     [](SampleHost& host) { set_port(host, "2: INIT", "5: LinkUp"); }},
    {"port-armed",
     kP,
     {"mlx5_0 port 1"},
     hgx_h100,
     [](SampleHost& host) { set_port(host, "3: ARMED", "5: LinkUp"); }},
    {"port-init",
     kP,
     {"mlx5_0 port 1"},
     hgx_h200_roce,
     [](SampleHost& host) { set_port(host, "2: INIT", "5: LinkUp"); }},
    {"port-polling",
     kP,
     {"mlx5_0 port 1"},
     hgx_h100,
     [](SampleHost& host) { set_port(host, "1: DOWN", "2: Polling"); }},
    // Another NIC is as near.
    {"port-polling",
     kW,
     {"mlx5_0 port 1"},
     dgx_a100,
     [](SampleHost& host) { set_port(host, "1: DOWN", "2: Polling"); }},
    {"port-sleep",
     kP,
     {"mlx5_0 port 1"},
     hgx_h100,
     [](SampleHost& host) { set_port(host, "1: DOWN", "1: Sleep"); }},
    {"port-disabled",
     kP,
     {"mlx5_0 port 1"},
     hgx_h200_roce,
     [](SampleHost& host) { set_port(host, "1: DOWN", "3: Disabled"); }},
    {"port-training",
     kP,
     {"mlx5_0 port 1"},
     hgx_h100,
     [](SampleHost& host) { set_port(host, "1: DOWN", "4: PortConfigurationTraining"); }},
    {"port-error-recovery",
     kP,
     {"mlx5_0 port 1"},
     hgx_h100,
     [](SampleHost& host) { set_port(host, "1: DOWN", "6: LinkErrorRecovery"); }},
    {"port-down",
     kP,
     {"mlx5_0 port 1"},
     hgx_h100,
     [](SampleHost& host) { set_port(host, "1: DOWN", "5: LinkUp"); }},
    {"port-width",
     kP,
     {"mlx5_0 port 1"},
     pcie_server,
     [](SampleHost& host) { host.write(kPort0 + "/rate", "50 Gb/sec (1X HDR)\n"); }},
    {"port-rate-differs",
     kP,
     {"mlx5_0 port 1"},
     hgx_h100,
     [](SampleHost& host) { host.write(kPort0 + "/rate", "200 Gb/sec (4X HDR)\n"); }},
    {"nic-pcie-below-port",
     kW,
     {"mlx5_0 (0000:3f:00.0)"},
     dual_socket_good,
     [](SampleHost& host) {
       for (const char* which : {"/current_link_width", "/max_link_width"}) {
         host.write(kDevices + "0000:3f:00.0" + which, "8\n");
       }
     }},
    {"firmware-differs",
     kW,
     {"MT_0000000838"},
     hgx_h100,
     [](SampleHost& host) { host.write(kRdma + "mlx5_5/fw_ver", "28.36.1010\n"); }},
    {"nic-without-rdma",
     kP,
     {"nic0 (0000:3f:00.0)"},
     dual_socket_good,
     [](SampleHost& host) { host.remove("/sys/class/infiniband"); }},
};

const std::vector<Fault> kPcieFaults{
    {"pcie-link-width",
     kP,
     {"gpu0 (0000:13:00.0)"},
     hgx_h100,
     [](SampleHost& host) { host.write(kDevices + "0000:13:00.0/current_link_width", "8\n"); }},
    {"pcie-link-speed-gpu",
     kW,
     {"gpu0 (0000:13:00.0)"},
     hgx_h100,
     [](SampleHost& host) {
       host.write(kDevices + "0000:13:00.0/current_link_speed", "2.5 GT/s PCIe\n");
     }},
    {"pcie-link-speed",
     kP,
     {"mlx5_0 (0000:14:00.0)"},
     hgx_h100,
     [](SampleHost& host) {
       host.write(kDevices + "0000:14:00.0/current_link_speed", "16.0 GT/s PCIe\n");
     }},
    // The uplink of a switch.
    {"pcie-link-speed",
     kP,
     {"switch 0000:11:00.0"},
     hgx_h100,
     [](SampleHost& host) {
       host.write(kDevices + "0000:11:00.0/current_link_speed", "8.0 GT/s PCIe\n");
     }},
    {"pcie-slot-limits",
     kW,
     {"gpu0 (0000:01:00.0)"},
     workstation,
     [](SampleHost& host) {
       host.write(kDevices + "0000:01:00.0/current_link_width", "8\n");
       host.write(kDevices + "0000:00:01.1/current_link_width", "8\n");
       host.write(kDevices + "0000:00:01.1/max_link_width", "8\n");
     }},
    {"max-payload",
     kW,
     {"gpu0 (0000:13:00.0)"},
     hgx_h100,
     [](SampleHost& host) {
       write_config(host, "0000:13:00.0", nvidia(0x2330, 0), {.max_payload = 128});
     }},
    {"max-payload-mismatch",
     kP,
     {"gpu0 (0000:13:00.0)"},
     hgx_h100,
     [](SampleHost& host) {
       write_config(host, "0000:13:00.0", nvidia(0x2330, 0), {.max_payload = 512});
     }},
    {"max-read-request",
     kW,
     {"mlx5_0 (0000:14:00.0)"},
     hgx_h100,
     [](SampleHost& host) {
       write_config(host, "0000:14:00.0", mellanox(0x1021, 0), {.max_read_request = 128});
     }},
    {"relaxed-ordering-off",
     kW,
     {"mlx5_0 (0000:14:00.0)"},
     hgx_h100,
     [](SampleHost& host) {
       write_config(host, "0000:14:00.0", mellanox(0x1021, 0), {.relaxed_ordering = false});
     }},
    // The port above gpu0, and the one above its NIC: either way is diverted.
    {"acs-redirect",
     kP,
     {"bridge 0000:12:00.0", "bridge 0000:12:01.0"},
     hgx_h100,
     [](SampleHost& host) {
       for (const char* address : {"0000:12:00.0", "0000:12:01.0"}) {
         write_config(
             host, address,
             {.pci_class = 0x060400, .vendor = 0x1000, .device = 0xc030, .driver = "", .speed = ""},
             {.port_type = 6, .access_control = 0x1d});
       }
     }},
    {"iommu-translates",
     kW,
     {"host"},
     pcie_server,
     [](SampleHost& host) {
       for (int group = 0; group < 16; ++group) {
         host.write("/sys/kernel/iommu_groups/" + std::to_string(group) + "/type", "DMA-FQ\n");
       }
     }},
    {"numa-unset",
     kW,
     {"gpu0 (0000:13:00.0)"},
     hgx_h100,
     [](SampleHost& host) { host.write(kDevices + "0000:13:00.0/numa_node", "-1\n"); }},
    {"gpu-nic-other-socket",
     kP,
     {"gpu0 (0000:3d:00.0)", "gpu1 (0000:3e:00.0)"},
     dual_socket_wrong,
     [](SampleHost&) {}},
    {"gpu-nic-root-complex",
     kW,
     {"gpu0 (0000:3d:00.0)", "gpu1 (0000:3e:00.0)"},
     dual_socket_wrong,
     [](SampleHost& host) { host.write(kDevices + "0000:af:00.0/numa_node", "0\n"); }},
    {"gpu-without-driver",
     kP,
     {"gpu0 (0000:01:00.0)"},
     workstation,
     [](SampleHost& host) { host.remove(kDevices + "0000:01:00.0/driver"); }},
    {"counter-pcie_corrected_errors",
     kW,
     {"0000:14:00.0"},
     hgx_h100,
     [](SampleHost& host) {
       host.write(kDevices + "0000:14:00.0/aer_dev_correctable", "RxErr 7\nTOTAL_ERR_COR 7\n");
     }},
};

const std::vector<Fault> kRoceFaults{
    {"roce-mtu",
     kW,
     {"mlx5_bond_0 port 1"},
     roce_bond,
     [](SampleHost& host) { host.write("/sys/class/net/bond0/mtu", "1500\n"); }},
    {"roce-mtu-differs",
     kW,
     {"host"},
     hgx_h200_roce,
     [](SampleHost& host) { host.write("/sys/class/net/eth3/mtu", "4100\n"); }},
    {"gid-no-roce-v2",
     kP,
     {"mlx5_0 port 1"},
     hgx_h200_roce,
     [](SampleHost& host) { set_types(host, "IB/RoCE v1"); }},
    {"gid-no-ipv4",
     kP,
     {"mlx5_0 port 1"},
     hgx_h200_roce,
     [](SampleHost& host) {
       for (const char* index : {"/gids/2", "/gids/3"}) {
         host.write(kPort0 + index, "0000:0000:0000:0000:0000:0000:0000:0000\n");
       }
     }},
    {"gid-index-differs",
     kW,
     {"host"},
     hgx_h200_roce,
     [](SampleHost& host) {
       host.write(kPort0 + "/gids/4", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
       host.write(kPort0 + "/gid_attrs/types/4", "RoCE v2\n");
       host.write(kPort0 + "/gid_attrs/types/3", "IB/RoCE v1\n");
     }},
    {"roce-traffic-class",
     kW,
     {"mlx5_0 port 1"},
     hgx_h200_roce,
     [](SampleHost& host) {
       host.write(kRdma + "mlx5_0/tc/1/traffic_class", "Global tclass=0\n");
     }},
    {"roce-ecn-off",
     kW,
     {"mlx5_0 port 1"},
     hgx_h200_roce,
     [](SampleHost& host) { host.write("/sys/class/net/eth0/ecn/roce_np/enable/3", "0\n"); }},
    {"roce-pfc-off",
     kW,
     {"mlx5_0 port 1"},
     hgx_h200_roce,
     [](SampleHost& host) {
       host.write("/dcb/eth0",
                  "pfc-cap 8 macsec-bypass off delay 0\n"
                  "prio-pfc 0:off 1:off 2:off 3:off 4:off 5:off 6:off 7:off\n");
       host.write("/dcb/eth1", "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n");
     }},
    {"bond-one-port",
     kW,
     {"bond0"},
     roce_bond,
     [](SampleHost& host) {
       host.write("/sys/class/net/bond0/bonding/mode", "active-backup 1\n");
     }},
    {"bond-hash",
     kW,
     {"bond0"},
     roce_bond,
     [](SampleHost& host) {
       host.write("/sys/class/net/bond0/bonding/xmit_hash_policy", "layer2 0\n");
     }},
    {"bond-member-down",
     kP,
     {"eth1"},
     roce_bond,
     [](SampleHost& host) {
       host.write("/sys/class/net/eth1/bonding_slave/mii_status", "down\n");
     }},
};

const std::vector<Fault> kSystemFaults{
    {"memlock",
     kP,
     {"host"},
     hgx_h100,
     [](SampleHost& host) {
       host.write("/proc/self/limits", "Max locked memory 65536 65536 bytes\n");
     }},
    // Root is not bound by it.
    {"memlock",
     kW,
     {"host"},
     hgx_h100,
     [](SampleHost& host) {
       host.write("/proc/self/limits", "Max locked memory 65536 65536 bytes\n");
       host.write("/proc/self/status", "CapEff:\t000001ffffffffff\n");
     }},
    {"cpu-governor",
     kW,
     {"host"},
     hgx_h100,
     [](SampleHost& host) {
       host.write("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
     }},
    {"numa-balancing",
     kW,
     {"host"},
     amd_host,
     [](SampleHost& host) { host.write("/proc/sys/kernel/numa_balancing", "1\n"); }},
    {"gpudirect-missing",
     kP,
     {"host"},
     hgx_h100,
     [](SampleHost& host) { host.write("/proc/modules", "nvidia 1 0 - Live 0x0\n"); }},
    {"qp-stuck",
     kW,
     {"mlx5_0"},
     hgx_h100,
     [](SampleHost& host) {
       const std::string pair = "/sys/kernel/debug/mlx5/0000:14:00.0/QPs/0x1a2";
       host.write(pair + "/state", "INIT\n");
       host.write(pair + "/pid", "4711\n");
     }},
    {"qp-error",
     kW,
     {"mlx5_0"},
     hgx_h100,
     [](SampleHost& host) {
       host.write("/sys/kernel/debug/mlx5/0000:14:00.0/QPs/0x1a2/state", "ERR\n");
     }},
    {"qp-stuck",
     kW,
     {"bnxt_re0"},
     broadcom_host,
     [](SampleHost& host) {
       host.write("/rdma/qp",
                  "link bnxt_re0/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core] \n"
                  "link bnxt_re0/1 lqpn 1027 type RC state INIT sq-psn 0 path-mig-state MIGRATED "
                  "pdn 4 pid 4711 comm python3 \n");
     }},
    {"qp-error",
     kW,
     {"bnxt_re0"},
     broadcom_host,
     [](SampleHost& host) {
       host.write("/rdma/qp",
                  "link bnxt_re0/1 lqpn 1027 rqpn 1040 type RC state ERR sq-psn 0 pid 4711 comm "
                  "python3 \n");
     }},
    {"counter-symbol_error",
     kW,
     {"mlx5_0 port 1"},
     hgx_h100,
     [](SampleHost& host) { host.write(kPort0 + "/counters/symbol_error", "12\n"); }},
    {"counter-rx_discards_phy",
     kW,
     {"eth0"},
     hgx_h200_roce,
     [](SampleHost& host) {
       host.write("/ethtool/eth0", "NIC statistics:\n     rx_discards_phy: 3\n");
     }},
};

std::string name_of(const testing::TestParamInfo<Fault>& info) {
  std::string name = std::string(info.param.id) + "_" + std::to_string(info.index);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ports, PlantedFault, testing::ValuesIn(kPortFaults), name_of);
INSTANTIATE_TEST_SUITE_P(Pcie, PlantedFault, testing::ValuesIn(kPcieFaults), name_of);
INSTANTIATE_TEST_SUITE_P(Roce, PlantedFault, testing::ValuesIn(kRoceFaults), name_of);
INSTANTIATE_TEST_SUITE_P(System, PlantedFault, testing::ValuesIn(kSystemFaults), name_of);

// Writes have 24 bytes around each payload: 128 / 152 and 256 / 280.
TEST(SmallPayloads, AreToldAsSharesOfTheLink) {
  const auto host = hgx_h100();
  write_config(*host, "0000:13:00.0", nvidia(0x2330, 0), {.max_payload = 128});
  const HostCheckup checkup = look_at(*host);
  const auto found =
      std::find_if(checkup.findings.begin(), checkup.findings.end(),
                   [](const Finding& finding) { return finding.id == "max-payload"; });
  ASSERT_NE(found, checkup.findings.end());
  EXPECT_NE(found->why.find("84.2 % is payload, where 91.4 % could be"), std::string::npos)
      << found->why;
}

}  // namespace
}  // namespace gradhaul
