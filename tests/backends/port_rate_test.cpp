// What a port says that it runs at.

#include "backends/host/port_rate.h"

#include <gtest/gtest.h>

#include "tests/backends/sample_host.h"

namespace gradhaul {
namespace {

TEST(PortRate, IsWhatThePortOfADeviceOnABusSays) {
  SampleHost host("ports");
  host.rdma("mlx5_0", "/sys/devices/pci0000:00/0000:00:01.0", "InfiniBand", "400 Gb/sec (4X NDR)");
  host.rdma("mlx5_1", "/sys/devices/pci0000:00/0000:00:02.0", "InfiniBand", "2.5 Gb/sec (1X SDR)");
  host.rdma("mlx5_2", "/sys/devices/pci0000:00/0000:00:03.0", "InfiniBand", "no rate");
  // As soft-RoCE has it: below no device.
  host.write("/sys/devices/virtual/infiniband/rxe0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  host.link("/sys/class/infiniband/rxe0", "/sys/devices/virtual/infiniband/rxe0");
  const HostTree tree(host.root());
  EXPECT_EQ(port_rate(tree, "mlx5_0 port 1"), BitRate{400'000'000'000});
  EXPECT_EQ(port_rate(tree, "mlx5_1 port 1"), BitRate{2'500'000'000});
  EXPECT_EQ(port_rate(tree, "mlx5_2 port 1"), std::nullopt);
  EXPECT_EQ(port_rate(tree, "rxe0 port 1"), std::nullopt);
  EXPECT_EQ(port_rate(tree, "mlx5_0 port 2"), std::nullopt);
  EXPECT_EQ(port_rate(tree, "mlx5_0"), std::nullopt);
}

}  // namespace
}  // namespace gradhaul
