#pragma once

// Twelve kinds of machines, after public descriptions of their layouts (user guides of DGX A100 and
// H100, `nvidia-smi topo -m` of PCIe servers and clouds, block diagrams of boards).

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/backends/sample_host.h"

namespace gradhaul {

using SampleHostPtr = std::unique_ptr<SampleHost>;

inline constexpr const char* kGen4 = "16.0 GT/s PCIe";
inline constexpr const char* kGen5 = "32.0 GT/s PCIe";

inline SamplePci nvidia(int device, int numa, const std::string& speed = kGen5) {
  return {0x030200, 0x10de, device, numa, "nvidia", speed, 16, 0};
}
inline SamplePci mellanox(int device, int numa, const std::string& speed = kGen5,
                          bool ethernet = false) {
  return {ethernet ? 0x020000 : 0x020700, 0x15b3, device, numa, "mlx5_core", speed, 16, 0};
}
inline SamplePci nvswitch(int device, int numa) {
  return {0x068000, 0x10de, device, numa, "nvidia-nvswitch", kGen4, 2, 0};
}

// Four switches with two GPUs and two NICs each, two at each EPYC.
inline SampleHostPtr dgx_a100() {
  auto host = std::make_unique<SampleHost>("dgx_a100");
  host->processors("AuthenticAMD", 23, 0x31, 2);
  for (int i = 0; i < 4; ++i) {
    const int bus = 0x10 + 0x20 * i;
    const int numa = i / 2;
    const auto port = host->root_port(host->root_bus(bus), host->at(bus, 1), numa, kGen4);
    const auto ports = host->pcie_switch(port, bus + 1, 4, numa, kGen4);
    for (int j = 0; j < 2; ++j) {
      host->pci(ports[j], host->at(bus + 3 + j), nvidia(0x20b2, numa, kGen4));
      const auto nic =
          host->pci(ports[2 + j], host->at(bus + 5 + j), mellanox(0x101b, numa, kGen4));
      host->rdma("mlx5_" + std::to_string(2 * i + j), nic, "InfiniBand", "200 Gb/sec (4X HDR)");
    }
  }
  host->pci(host->root_bus(0xc0), host->at(0xc4), nvswitch(0x1af1, 1));
  return host;
}

// Eight pairs of a GPU and a NIC, each below a switch of its own, four at each Xeon.
inline SampleHostPtr hgx(const std::string& name, int gpu, bool ethernet) {
  auto host = std::make_unique<SampleHost>(name);
  host->processors("GenuineIntel", 6, 143, 2);
  for (int i = 0; i < 8; ++i) {
    const int bus = 0x10 + 0x10 * i;
    const int numa = i / 4;
    const auto port = host->root_port(host->root_bus(bus), host->at(bus, 1), numa);
    const auto ports = host->pcie_switch(port, bus + 1, 2, numa);
    host->pci(ports[0], host->at(bus + 3), nvidia(gpu, numa));
    const auto nic =
        host->pci(ports[1], host->at(bus + 4), mellanox(0x1021, numa, kGen5, ethernet));
    const auto number = std::to_string(i);
    const auto rdma = host->rdma("mlx5_" + number, nic, ethernet ? "Ethernet" : "InfiniBand",
                                 "400 Gb/sec (4X NDR)");
    if (!ethernet) continue;
    host->netdev("eth" + number, nic, 400000);
    host->gids(rdma, "eth" + number, "c0a8:0" + number + "01");
    host->write("/sys/class/infiniband/mlx5_" + number + "/tc/1/traffic_class",
                "Global tclass=106\n");
    host->write("/sys/class/net/eth" + number + "/ecn/roce_np/enable/3", "1\n");
    host->write("/ethtool/eth" + number,
                "NIC statistics:\n     rx_prio3_pause: 0\n     tx_prio3_pause: 0\n"
                "     rx_discards_phy: 0\n     rx0_packets: 17\n");
  }
  host->pci(host->root_bus(0xc0), host->at(0xc4), nvswitch(0x22a3, 1));
  return host;
}
inline SampleHostPtr hgx_h100() { return hgx("hgx_h100", 0x2330, false); }
inline SampleHostPtr hgx_h200_roce() { return hgx("hgx_h200_roce", 0x2335, true); }
inline SampleHostPtr hgx_b200() { return hgx("hgx_b200", 0x2901, false); }

// Four PCIe GPUs behind two switches, one below the other, and one NIC at the upper.
inline SampleHostPtr pcie_server() {
  auto host = std::make_unique<SampleHost>("pcie_server");
  host->processors("GenuineIntel", 6, 85, 1);
  const auto port = host->root_port(host->root_bus(0x16), host->at(0x16), 0, kGen4);
  const auto upper = host->pcie_switch(port, 0x17, 4, 0, kGen4);
  host->pci(upper[0], host->at(0x19), nvidia(0x20b5, 0, kGen4));
  host->pci(upper[1], host->at(0x1a), nvidia(0x20b5, 0, kGen4));
  const auto nic = host->pci(upper[2], host->at(0x1b), mellanox(0x101b, 0, kGen4));
  host->rdma("mlx5_0", nic, "InfiniBand", "200 Gb/sec (4X HDR)");
  const auto lower = host->pcie_switch(upper[3], 0x20, 2, 0, kGen4);
  host->pci(lower[0], host->at(0x22), nvidia(0x20b5, 0, kGen4));
  host->pci(lower[1], host->at(0x23), nvidia(0x20b5, 0, kGen4));
  return host;
}

// Two sockets, all devices below one switch of the first; `nic_socket` 1 puts the NIC elsewhere.
inline SampleHostPtr dual_socket(int nic_socket) {
  auto host = std::make_unique<SampleHost>("dual_socket");
  host->processors("GenuineIntel", 6, 85, 2);
  const auto port = host->root_port(host->root_bus(0x3a), host->at(0x3a), 0, kGen4);
  const auto ports = host->pcie_switch(port, 0x3b, 3, 0, kGen4);
  host->pci(ports[0], host->at(0x3d), nvidia(0x20b5, 0, kGen4));
  host->pci(ports[1], host->at(0x3e), nvidia(0x20b5, 0, kGen4));
  const auto other = host->root_port(host->root_bus(0xae), host->at(0xae), 1, kGen4);
  const auto nic = nic_socket == 0
                       ? host->pci(ports[2], host->at(0x3f), mellanox(0x1017, 0, "8.0 GT/s PCIe"))
                       : host->pci(other, host->at(0xaf), mellanox(0x1017, 1, "8.0 GT/s PCIe"));
  host->rdma("mlx5_0", nic, "InfiniBand", "100 Gb/sec (4X EDR)");
  return host;
}
inline SampleHostPtr dual_socket_good() { return dual_socket(0); }
inline SampleHostPtr dual_socket_wrong() { return dual_socket(1); }

// One GPU, Ethernet, no RDMA.
inline SampleHostPtr workstation() {
  auto host = std::make_unique<SampleHost>("workstation");
  host->processors("AuthenticAMD", 25, 0x61, 1);
  const auto first = host->root_port(host->root_bus(0), host->at(0, 1, 1), -1, kGen4);
  host->pci(first, host->at(1), {0x030000, 0x10de, 0x2684, -1, "nvidia", kGen4, 16, 0});
  const auto second = host->root_port(host->root_bus(0), host->at(0, 2, 1), -1, kGen4);
  const auto nic =
      host->pci(second, host->at(2), {0x020000, 0x8086, 0x15f3, -1, "igc", "5.0 GT/s PCIe", 1, 0});
  host->netdev("enp2s0", nic, 2500);
  host->write("/sys/class/net/enp2s0/mtu", "1500\n");
  return host;
}

// AMD GPUs, each behind a switch on its own board, in pairs with a NIC below a switch.
inline SampleHostPtr amd_host() {
  auto host = std::make_unique<SampleHost>("amd_host");
  host->processors("AuthenticAMD", 25, 0x11, 2);
  host->write("/proc/modules", "amdgpu 19283968 0 - Live 0x0\nmlx5_ib 450560 0 - Live 0x0\n");
  host->remove("/proc/driver");
  for (int i = 0; i < 4; ++i) {
    const int bus = 0x10 + 0x20 * i;
    const int numa = i / 2;
    const auto port = host->root_port(host->root_bus(bus), host->at(bus, 1), numa);
    const auto ports = host->pcie_switch(port, bus + 1, 2, numa);
    const auto board = host->pcie_switch(ports[0], bus + 3, 1, numa);
    host->pci(board[0], host->at(bus + 5),
              {0x120000, 0x1002, 0x74a1, numa, "amdgpu", kGen5, 16, 0});
    const auto nic = host->pci(ports[1], host->at(bus + 6), mellanox(0x1021, numa));
    host->rdma("mlx5_" + std::to_string(i), nic, "InfiniBand", "400 Gb/sec (4X NDR)");
  }
  return host;
}

// A RoCE host whose two ports are bonded: RDMA goes through mlx5_bond_0.
inline SampleHostPtr roce_bond() {
  auto host = std::make_unique<SampleHost>("roce_bond");
  host->processors("GenuineIntel", 6, 106, 1);
  const auto port = host->root_port(host->root_bus(0x50), host->at(0x50, 2), 0, kGen4);
  const auto ports = host->pcie_switch(port, 0x51, 3, 0, kGen4);
  host->pci(ports[0], host->at(0x53), nvidia(0x20b2, 0, kGen4));
  host->pci(ports[1], host->at(0x54), nvidia(0x20b2, 0, kGen4));
  const auto first = host->pci(ports[2], host->at(0x55), mellanox(0x101d, 0, kGen4, true));
  const auto second = host->pci(ports[2], host->at(0x55, 0, 1), mellanox(0x101d, 0, kGen4, true));
  const auto rdma = host->rdma("mlx5_bond_0", first, "Ethernet", "200 Gb/sec (4X HDR)");
  host->gids(rdma, "bond0", "0a00:0001");
  const auto bond = host->netdev("bond0", "", 200000);
  host->write(bond + "/bonding/mode", "802.3ad 4\n");
  host->write(bond + "/bonding/xmit_hash_policy", "layer3+4 1\n");
  host->write(bond + "/bonding/slaves", "eth0 eth1\n");
  for (const auto& [name, path] : {std::pair{"eth0", first}, std::pair{"eth1", second}}) {
    const auto member = host->netdev(name, path, 100000);
    host->link(member + "/master", bond);
    host->write(member + "/bonding_slave/mii_status", "up\n");
  }
  return host;
}

// A NIC of Broadcom's, of whose queue pairs the kernel alone tells: those of a job that runs, and
// those for datagrams that nobody uses at the moment.
inline SampleHostPtr broadcom_host() {
  auto host = std::make_unique<SampleHost>("broadcom_host");
  host->processors("AuthenticAMD", 25, 0x11, 1);
  const auto port = host->root_port(host->root_bus(0x20), host->at(0x20, 1), 0, kGen4);
  const auto ports = host->pcie_switch(port, 0x21, 2, 0, kGen4);
  host->pci(ports[0], host->at(0x23), nvidia(0x20b5, 0, kGen4));
  const auto nic =
      host->pci(ports[1], host->at(0x24), {0x020000, 0x14e4, 0x1750, 0, "bnxt_en", kGen4, 16, 0});
  host->gids(host->rdma("bnxt_re0", nic, "Ethernet", "100 Gb/sec (4X EDR)"), "eth0", "0a00:0002");
  host->netdev("eth0", nic, 100000);
  host->write("/rdma/qp",
              "link bnxt_re0/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core] \n"
              "link bnxt_re0/- lqpn 9 type UD state RESET sq-psn 0 comm [ib_ipoib] \n"
              "link bnxt_re0/1 lqpn 1027 rqpn 1040 type RC state RTS rq-psn 81 sq-psn 17 "
              "path-mig-state MIGRATED pdn 4 pid 4711 comm python3 \n");
  return host;
}

// A guest in a cloud: devices flat on one bus, no bridges, no NUMA nodes, little shown.
inline SampleHostPtr cloud_vm() {
  auto host = std::make_unique<SampleHost>("cloud_vm");
  host->processors("GenuineIntel", 6, 143, 1);
  host->remove("/sys/devices/system/cpu/cpu0/cpufreq");
  host->remove("/sys/devices/system/cpu/cpu1/cpufreq");
  for (int i = 0; i < 8; ++i) {
    const SamplePci gpu{0x030200, 0x10de, 0x2330, -1, "nvidia", "", 0, 0};
    host->pci(host->root_bus(0), host->at(0, 4 + i), gpu, {.shown = 256});
    const SamplePci nic{0x020000, 0x15b3, 0x101e, -1, "mlx5_core", "", 0, 0};
    const auto path = host->pci(host->root_bus(0), host->at(0, 16 + i), nic, {.shown = 256});
    host->rdma("mlx5_" + std::to_string(i), path, "InfiniBand", "400 Gb/sec (4X NDR)");
  }
  return host;
}

// As hgx_h100, seen by a user who is not root: configuration spaces are cut off.
inline SampleHostPtr unprivileged() {
  auto host = hgx_h100();
  for (const auto& entry :
       std::filesystem::directory_iterator(host->root() + "/sys/bus/pci/devices")) {
    std::filesystem::resize_file(entry.path() / "config", 64);
  }
  return host;
}

}  // namespace gradhaul
