// Where a rank's thread is placed: on the processors of this very machine, as a made tree deals
// them out to sockets, so that the kernel's answer is looked at and not ours.

#include "backends/host/thread_place.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <thread>

#include "tests/backends/sample_host.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kNic = "/sys/devices/pci0000:17/0000:17:01.0";

std::vector<int> allowed_now() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  std::vector<int> allowed;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &mask)) allowed.push_back(processor);
  }
  return allowed;
}

// A host whose sockets and NUMA nodes are what `nodes` lists as processors of each; the NIC is at
// `numa`.
class TwoSockets {
 public:
  TwoSockets(const std::vector<std::string>& nodes, int numa) : host_("placed") {
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const std::string number = std::to_string(node);
      host_.write("/sys/devices/system/node/node" + number + "/cpulist", nodes[node] + "\n");
      const std::string first = nodes[node].substr(0, nodes[node].find_first_of("-,"));
      host_.write("/sys/devices/system/cpu/cpu" + first + "/topology/physical_package_id",
                  number + "\n");
    }
    host_.write(std::string(kNic) + "/numa_node", std::to_string(numa) + "\n");
  }

  struct Outcome {
    ThreadPlace place;
    std::vector<int> processors;  // that the thread may use afterwards
    std::string error;
  };
  // In a thread of its own, which keeps what it is given.
  Outcome place(const ThreadPlacement& placement, const ServedDevice& device) const {
    Outcome outcome;
    std::thread([&] {
      try {
        outcome.place = ThreadPlacer(HostTree(host_.root()), placement).place(&device);
      } catch (const ThreadPlaceError& error) {
        outcome.error = error.what();
      }
      outcome.processors = allowed_now();
    }).join();
    return outcome;
  }
  Outcome place(ThreadPlacement::At at, int socket = 0) const {
    return place({at, socket}, {"mlx5_0", kNic});
  }

 private:
  SampleHost host_;
};

// Two processors that this test may use; skipped where it has but one.
class ThreadPlacing : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<int> allowed = allowed_now();
    if (allowed.size() < 2) GTEST_SKIP() << "it takes two processors";
    first_ = allowed[0];
    second_ = allowed[1];
    all_ = allowed;
  }
  TwoSockets split(int numa) const {
    return {{std::to_string(first_), std::to_string(second_) + "-16000"}, numa};
  }
  int first_ = 0;
  int second_ = 0;
  std::vector<int> all_;
};

TEST_F(ThreadPlacing, IsNearTheNic) {
  const auto outcome = split(0).place(ThreadPlacement::At::kGpu);
  EXPECT_THAT(outcome.processors, ElementsAre(first_));
  EXPECT_EQ(text_of(outcome.place),
            "processors " + std::to_string(first_) + ": those of NUMA node 0, where mlx5_0 is");
  // All that are here of the second node's list.
  const auto other = split(1).place(ThreadPlacement::At::kGpu);
  EXPECT_EQ(other.processors, std::vector<int>(all_.begin() + 1, all_.end()));
}

TEST_F(ThreadPlacing, IsAtAnotherSocketWhereThatIsAskedFor) {
  EXPECT_THAT(split(1).place(ThreadPlacement::At::kOther).processors, ElementsAre(first_));
  EXPECT_THAT(split(1).place(ThreadPlacement::At::kOne, 0).processors, ElementsAre(first_));
  EXPECT_EQ(split(1).place(ThreadPlacement::At::kOne, 2).error,
            "no socket2 shows its processors here; this host has 2 sockets");
  EXPECT_THAT(TwoSockets({std::to_string(first_)}, 0).place(ThreadPlacement::At::kOther).error,
              HasSubstr("other_socket: this host shows no other socket than that of mlx5_0"));
}

TEST_F(ThreadPlacing, LeavesAloneWhatIsNotTold) {
  const auto virtual_machine = split(-1).place(ThreadPlacement::At::kGpu);
  EXPECT_EQ(virtual_machine.processors, all_);
  EXPECT_EQ(text_of(virtual_machine.place),
            "anywhere: which NUMA node mlx5_0 is at is not told (numa_node -1), as in virtual "
            "machines");
  EXPECT_FALSE(virtual_machine.place.amiss);
  const auto soft = split(0).place({}, {"rxe0", ""});
  EXPECT_EQ(soft.processors, all_);
  EXPECT_THAT(soft.place.why, HasSubstr("rxe0 is no PCI device"));
  const auto one_node = TwoSockets({std::to_string(first_)}, 0).place(ThreadPlacement::At::kGpu);
  EXPECT_EQ(one_node.processors, all_);
  EXPECT_THAT(one_node.place.why, HasSubstr("one NUMA node"));
}

// What taskset or a batch system took away is never taken back.
TEST_F(ThreadPlacing, NeverWidensWhatTheProcessMayUse) {
  const TwoSockets host({"15000-15001", std::to_string(first_) + "-" + std::to_string(second_)}, 0);
  const auto outcome = host.place(ThreadPlacement::At::kGpu);
  EXPECT_EQ(outcome.processors, all_);
  EXPECT_TRUE(outcome.place.amiss);
  EXPECT_THAT(outcome.place.why, HasSubstr("none of processors 15000-15001, those of NUMA node 0, "
                                           "where mlx5_0 is, is among those that this process may "
                                           "use"));
  EXPECT_THAT(outcome.place.why, HasSubstr("taskset, numactl"));
  EXPECT_THAT(host.place(ThreadPlacement::At::kOne, 0).error, HasSubstr("15000-15001"));
}

TEST_F(ThreadPlacing, FollowsFromDeviceToDevice) {
  std::vector<int> back;
  std::thread([&] {
    SampleHost other("second");
    const std::string nodes = "/sys/devices/system/node/node";
    other.write(nodes + "0/cpulist", std::to_string(first_) + "\n");
    other.write(nodes + "1/cpulist", std::to_string(second_) + "\n");
    other.write("/sys/devices/a/numa_node", "0\n");
    other.write("/sys/devices/b/numa_node", "1\n");
    const ThreadPlacer placer(HostTree(other.root()), {});
    const ServedDevice a{"mlx5_0", "/sys/devices/a"};
    const ServedDevice b{"mlx5_1", "/sys/devices/b"};
    placer.place(&a);
    placer.place(&b);
    back = allowed_now();
  }).join();
  EXPECT_THAT(back, ElementsAre(second_));
}

}  // namespace
}  // namespace gradhaul
