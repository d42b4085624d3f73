// How NICs reach a GPU's memory: by a DMA-BUF, else as peer memory, else not; over fakes of both
// libraries. What arrives is looked at where it is.

#include <gmock/gmock.h>

#include <map>

#include "backends/cuda/gpu_rank_memory.h"
#include "backends/cuda/gpu_verbs_endpoint_maker.h"
#include "backends/verbs/opened_verbs.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_verbs/joined_ranks.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int kSlots = 4;
constexpr Bytes kSlotSize{4096};

// Two ranks on one GPU, rank 0 writing to rank 1.
class GpuPair {
 public:
  explicit GpuPair(const fake::FakeDeviceSpec& nic) : hub_(2) {
    for (Rank rank = 0; rank < 2; ++rank) {
      ranks_.push_back(std::make_unique<OneRank>(*this, rank, nic));
    }
    fake::for_ranks_at_once(2, [&](Rank rank) { at(rank).open(); });
    at(0).gpu.device().make_current();
  }

  std::map<std::string, std::string> facts(Rank rank) {
    const auto facts = at(rank).endpoint->facts();
    return {facts.begin(), facts.end()};
  }
  // Writes into slot after slot, a hundred bytes each, and waits until all have arrived.
  void write(int count) {
    for (int i = 0; i < count; ++i) {
      at(0).endpoint->post_write({.connection = 0,
                                  .kind = WriteKind::kData,
                                  .source = {Region::kInput, {100 * i}},
                                  .length = {100},
                                  .slot = i});
    }
    at(0).endpoint->flush();
    for (int looks = 0; looks < 1000; ++looks) {
      fabric_.step();
      for (const auto& rank : ranks_) rank->endpoint->poll(rank->seen);
    }
  }
  std::vector<Completion> arrived() { return at(1).seen.of(CompletionKind::kWriteArrived); }
  void fill_input(std::span<const std::byte> bytes) {
    at(0).memory.write({Region::kInput, {}}, bytes);
  }
  std::vector<std::byte> slot(int index) {
    std::vector<std::byte> bytes(100);
    at(1).memory.read({Region::kSlots, kSlotSize * index}, bytes);
    return bytes;
  }

 private:
  struct OneRank {
    OneRank(GpuPair& pair, Rank rank, fake::FakeDeviceSpec nic)
        : gpu(0, fake::FakeCuda::library(), fake::kernel_image()),
          memory(gpu),
          exchange(pair.hub_, rank),
          verbs(
              exchange, fake::JoinedRanks::no_deadline(),
              [](const ConnectionEnd& /*end*/) { return 0; },
              [&pair, rank, nic](const VerbsSettings& settings) {
                fake::FakeDeviceSpec own = nic;
                own.ports = fake::roce_host(rank).ports;
                return std::make_unique<OpenedVerbs>(
                    std::make_unique<fake::FakeVerbs>(pair.fabric_, std::vector{own}), settings);
              }),
          maker(verbs, [this]() -> const CudaDevice& { return gpu.device(); }) {}
    void open() {
      const bool sends = exchange.rank() == 0;
      memory.prepare({.input = {1000}, .output = {1000}, .slots = kSlotSize * kSlots});
      endpoint = maker.make({.connections = {{{0, 0, 1, 0}, sends, {}}},
                             .memory = memory.regions(),
                             .slots = kSlots,
                             .slot_size = kSlotSize});
    }
    RankGpu gpu;
    GpuRankMemory memory;
    fake::MemoryExchange exchange;
    VerbsEndpointMaker verbs;
    GpuVerbsEndpointMaker maker;
    std::unique_ptr<Endpoint> endpoint;
    fake::CollectedCompletions seen;
  };
  OneRank& at(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  fake::FakeFabric fabric_;
  fake::MemoryExchangeHub hub_;
  std::vector<std::unique_ptr<OneRank>> ranks_;
};

void expect_writes_arrive(GpuPair& pair) {
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  pair.fill_input(bytes);
  pair.write(3);
  EXPECT_THAT(pair.arrived(), SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::byte> expected(bytes.begin() + 100 * i, bytes.begin() + 100 * i + 100);
    EXPECT_EQ(pair.slot(i), expected) << i;
  }
}

fake::FakeDeviceSpec nic_with_dma_buf() {
  fake::FakeDeviceSpec nic;
  nic.dma_buf_error = 0;
  return nic;
}

TEST(VerbsGpuMemory, IsReachedByADmaBufFirst) {
  const fake::FakeCuda cuda("dmabuf=1");
  GpuPair pair(nic_with_dma_buf());
  EXPECT_EQ(pair.facts(0)["gpu_memory"], "dmabuf");
  EXPECT_EQ(pair.facts(0).count("gpu_memory_why"), 0U);
  expect_writes_arrive(pair);
}

TEST(VerbsGpuMemory, IsReachedAsPeerMemoryWhereTheGpuSharesNoDmaBuf) {
  const fake::FakeCuda cuda("dmabuf=0");
  fake::FakeDeviceSpec nic = nic_with_dma_buf();
  nic.peer_memory = [&cuda](void* address, std::size_t length) {
    return cuda.view(static_cast<std::byte*>(address), length);
  };
  GpuPair pair(nic);
  EXPECT_EQ(pair.facts(1)["gpu_memory"], "peermem");
  EXPECT_THAT(pair.facts(1)["gpu_memory_why"],
              HasSubstr("GPU 0 (Fake GPU at 0000:01:00.0) shares no memory as a DMA-BUF"));
  expect_writes_arrive(pair);
}

TEST(VerbsGpuMemory, IsStagedWhereNicsTakeNeither) {
  const fake::FakeCuda cuda("dmabuf=1");
  GpuPair pair(fake::FakeDeviceSpec{});
  EXPECT_EQ(pair.facts(0)["gpu_memory"], "host");
  EXPECT_THAT(pair.facts(0)["gpu_memory_why"],
              AllOf(HasSubstr("fake0 port 1 can't register 16384 bytes of a GPU's memory as a "
                              "DMA-BUF: Operation not supported (95)"),
                    HasSubstr("as peer memory: Bad address (14)"), HasSubstr("nvidia-peermem")));
  expect_writes_arrive(pair);
}

TEST(VerbsGpuMemory, IsStagedBeforeHopper) {
  const fake::FakeCuda cuda("dmabuf=1 capability=8.0");
  GpuPair pair(nic_with_dma_buf());
  EXPECT_EQ(pair.facts(0)["gpu_memory"], "host");
  EXPECT_THAT(pair.facts(0)["gpu_memory_why"], HasSubstr("compute capability 8.0"));
  expect_writes_arrive(pair);
}

}  // namespace
}  // namespace gradhaul
