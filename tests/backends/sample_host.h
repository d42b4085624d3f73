#pragma once

// A machine's /sys and /proc, made in a temporary folder from a short description, in the forms
// that Linux writes (Documentation/ABI). Everything is as on a well-kept machine until a test
// changes it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gradhaul {

struct SamplePci {
  int pci_class = 0;
  int vendor = 0;
  int device = 0;
  int numa = -1;
  std::string driver;
  std::string speed = "32.0 GT/s PCIe";
  int width = 16;
  int port_type = 0;  // of the PCI Express capability: 0 endpoint, 4 root, 5 upstream, 6 downstream
};

// The settings that stand in a configuration space.
struct SampleConfig {
  int port_type = 0;
  int max_payload_supported = 512;
  int max_payload = 256;
  int max_read_request = 4096;
  bool relaxed_ordering = true;
  int access_control = 0;  // 0x1d: as kernels set it for virtual machines
  std::size_t shown = 4096;
};

inline unsigned size_code(int bytes) {
  unsigned code = 0;
  while ((128 << code) < bytes) ++code;
  return code;
}

// Header, power management, PCI Express, then Advanced Error Reporting and Access Control Services.
inline std::string config_bytes(const SamplePci& pci, const SampleConfig& config) {
  std::string bytes(4096, '\0');
  const auto put = [&](std::size_t at, unsigned value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  };
  put(0x00, static_cast<unsigned>(pci.vendor), 2);
  put(0x02, static_cast<unsigned>(pci.device), 2);
  put(0x06, 0x0010, 2);
  put(0x34, 0x40, 1);
  put(0x40, 0x6001, 2);
  put(0x60, 0x0010, 2);
  put(0x62, 0x2U | static_cast<unsigned>(config.port_type) << 4, 2);
  put(0x64, size_code(config.max_payload_supported), 4);
  put(0x68,
      size_code(config.max_payload) << 5 | size_code(config.max_read_request) << 12 |
          (config.relaxed_ordering ? 0x10U : 0U),
      2);
  put(0x100, 0x14810001, 4);
  put(0x148, 0x0001000d, 4);
  put(0x14c, 0x005f, 2);
  put(0x14e, static_cast<unsigned>(config.access_control), 2);
  return bytes.substr(0, config.shown);
}

class SampleHost {
 public:
  explicit SampleHost(const std::string& name) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string unique = std::string(test->test_suite_name()) + "_" + test->name() + "_" + name;
    for (char& c : unique) {
      if (c == '/') c = '_';
    }
    // Thousands of small files: in memory, where there is a place for it.
    const bool shared_memory = access("/dev/shm", W_OK) == 0;
    root_ = (shared_memory ? "/dev/shm/" : testing::TempDir()) + "gradhaul_host_" + unique + "_" +
            std::to_string(getpid());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/sys/bus/pci/devices");
    proc();
  }
  ~SampleHost() { std::filesystem::remove_all(root_); }
  SampleHost(const SampleHost&) = delete;
  SampleHost& operator=(const SampleHost&) = delete;

  const std::string& root() const { return root_; }

  // `path` as on the machine; symbolic links on the way are followed.
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path, std::ios::binary) << text;
  }
  void remove(const std::string& path) { std::filesystem::remove_all(root_ + path); }
  void link(const std::string& path, const std::string& target) {
    const std::filesystem::path from = root_ + path;
    std::filesystem::create_directories(from.parent_path());
    std::filesystem::remove(from);
    const auto relative =
        std::filesystem::path(target).lexically_relative(std::filesystem::path(path).parent_path());
    std::filesystem::create_symlink(relative, from);
  }

  void processors(const std::string& vendor, int family, int model, int sockets,
                  int processors_each = 2) {
    write("/proc/cpuinfo",
          "processor\t: 0\nvendor_id\t: " + vendor + "\ncpu family\t: " + std::to_string(family) +
              "\nmodel\t\t: " + std::to_string(model) + "\nmodel name\t: Sample CPU\n\n");
    for (int socket = 0; socket < sockets; ++socket) {
      const int first = socket * processors_each;
      write("/sys/devices/system/node/node" + std::to_string(socket) + "/cpulist",
            std::to_string(first) + "-" + std::to_string(first + processors_each - 1) + "\n");
      for (int cpu = first; cpu < first + processors_each; ++cpu) {
        const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
        write(folder + "/topology/physical_package_id", std::to_string(socket) + "\n");
        write(folder + "/cpufreq/scaling_governor", "performance\n");
      }
    }
  }

  // The path of the new function, below a root bus ("/sys/devices/pci0000:17") or a bridge's path.
  std::string pci(const std::string& above, const std::string& address, const SamplePci& spec,
                  SampleConfig config = {}) {
    const std::string path = above + "/" + address;
    write(path + "/class", hex(spec.pci_class, 6) + "\n");
    write(path + "/vendor", hex(spec.vendor, 4) + "\n");
    write(path + "/device", hex(spec.device, 4) + "\n");
    write(path + "/numa_node", std::to_string(spec.numa) + "\n");
    write(path + "/local_cpulist", "0-1\n");
    if (!spec.speed.empty()) {
      for (const char* which : {"current", "max"}) {
        write(path + "/" + which + "_link_speed", spec.speed + "\n");
        write(path + "/" + which + "_link_width", std::to_string(spec.width) + "\n");
      }
    }
    config.port_type = spec.port_type;
    write(path + "/config", config_bytes(spec, config));
    write(path + "/aer_dev_correctable", "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0\n");
    write(path + "/aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 0\n");
    if (!spec.driver.empty()) {
      std::filesystem::create_directories(root_ + "/sys/bus/pci/drivers/" + spec.driver);
      link(path + "/driver", "/sys/bus/pci/drivers/" + spec.driver);
    }
    const std::string group = std::to_string(groups_++);
    write("/sys/kernel/iommu_groups/" + group + "/type", "identity\n");
    link(path + "/iommu_group", "/sys/kernel/iommu_groups/" + group);
    link("/sys/bus/pci/devices/" + address, path);
    return path;
  }

  // A root port, or a switch: one upstream port, then `ports` downstream ones. Paths of those.
  std::string root_port(const std::string& bus, const std::string& address, int numa,
                        const std::string& speed = "32.0 GT/s PCIe") {
    return pci(bus, address, {0x060400, 0x8086, 0x352a, numa, "pcieport", speed, 16, 4});
  }
  std::vector<std::string> pcie_switch(const std::string& above, int bus, int ports, int numa,
                                       const std::string& speed = "32.0 GT/s PCIe") {
    const std::string upstream =
        pci(above, at(bus), {0x060400, 0x1000, 0xc030, numa, "pcieport", speed, 16, 5});
    std::vector<std::string> paths;
    for (int port = 0; port < ports; ++port) {
      paths.push_back(pci(upstream, at(bus + 1, port),
                          {0x060400, 0x1000, 0xc030, numa, "pcieport", speed, 16, 6}));
    }
    return paths;
  }

  // An RDMA device with one active port. `rate`: "400 Gb/sec (4X NDR)".
  std::string rdma(const std::string& name, const std::string& pci_path, const std::string& layer,
                   const std::string& rate) {
    const std::string real = pci_path + "/infiniband/" + name;
    write(real + "/fw_ver", "28.39.1002\n");
    write(real + "/board_id", "MT_0000000838\n");
    link(real + "/device", pci_path);
    const std::string port = real + "/ports/1";
    write(port + "/state", "4: ACTIVE\n");
    write(port + "/phys_state", "5: LinkUp\n");
    write(port + "/rate", rate + "\n");
    write(port + "/link_layer", layer + "\n");
    write(port + "/sm_lid", layer == "Ethernet" ? "0x0\n" : "0x1\n");
    for (const char* counter : {"symbol_error", "link_downed", "port_rcv_errors", "port_xmit_wait",
                                "port_xmit_data", "port_rcv_data", "link_error_recovery"}) {
      write(port + "/counters/" + counter, "0\n");
    }
    for (const char* counter : {"packet_seq_err", "out_of_sequence", "local_ack_timeout_err",
                                "rnr_nak_retry_err", "np_cnp_sent", "rp_cnp_handled", "lifespan"}) {
      write(port + "/hw_counters/" + counter, "0\n");
    }
    if (layer != "Ethernet") write(port + "/gids/0", "fe80:0000:0000:0000:0002:c903:0031:7bf1\n");
    link("/sys/class/infiniband/" + name, real);
    return port;
  }

  // GIDs as a RoCE port has them: two link-local ones, then IPv4, each as v1 and v2.
  void gids(const std::string& port, const std::string& netdev, const std::string& ipv4_part) {
    for (int index = 0; index < 4; ++index) {
      const std::string number = std::to_string(index);
      write(port + "/gids/" + number, index < 2
                                          ? "fe80:0000:0000:0000:0a00:27ff:fe4e:66a1\n"
                                          : "0000:0000:0000:0000:0000:ffff:" + ipv4_part + "\n");
      write(port + "/gid_attrs/types/" + number, index % 2 == 0 ? "IB/RoCE v1\n" : "RoCE v2\n");
      write(port + "/gid_attrs/ndevs/" + number, netdev + "\n");
    }
    write(port + "/gids/4", "0000:0000:0000:0000:0000:0000:0000:0000\n");
  }

  std::string netdev(const std::string& name, const std::string& pci_path, int megabits) {
    const std::string real =
        (pci_path.empty() ? "/sys/devices/virtual" : pci_path) + "/net/" + name;
    write(real + "/mtu", "9000\n");
    write(real + "/speed", std::to_string(megabits) + "\n");
    write(real + "/operstate", "up\n");
    write(real + "/carrier_down_count", "1\n");
    write(real + "/statistics/rx_crc_errors", "0\n");
    if (!pci_path.empty()) link(real + "/device", pci_path);
    link("/sys/class/net/" + name, real);
    return real;
  }

  static std::string at(int bus, int device = 0, int function = 0) {
    return "0000:" + hex(bus, 2).substr(2) + ":" + hex(device, 2).substr(2) + "." +
           std::to_string(function);
  }
  static std::string root_bus(int bus) { return "/sys/devices/pci0000:" + hex(bus, 2).substr(2); }

 private:
  void proc() {
    write("/proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
    write("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro intel_iommu=on iommu=pt\n");
    write("/proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max cpu time              unlimited            unlimited            seconds   \n"
          "Max locked memory         unlimited            unlimited            bytes     \n");
    write("/proc/self/status", "Name:\tbash\nCapEff:\t0000000000000000\n");
    write("/proc/modules",
          "nvidia_peermem 16384 0 - Live 0x0000000000000000 (OE)\n"
          "nvidia 56713216 1 nvidia_peermem, Live 0x0000000000000000 (OE)\n"
          "mlx5_ib 450560 0 - Live 0x0000000000000000\n");
    write("/proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC "
          "2023\nGCC version:  gcc version 11.4.0\n");
    write("/proc/sys/vm/nr_hugepages", "0\n");
    write("/proc/sys/kernel/numa_balancing", "0\n");
    write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    std::filesystem::create_directories(root_ + "/ethtool");
  }

  static std::string hex(int number, int digits) {
    std::string text;
    for (; digits > 0; --digits, number >>= 4) {
      text.insert(text.begin(), "0123456789abcdef"[number & 0xf]);
    }
    return "0x" + text;
  }

  std::string root_;
  int groups_ = 0;
};

}  // namespace gradhaul
