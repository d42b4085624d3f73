// How NICs reach a GPU's memory: by a DMA-BUF, else as peer memory, else not; and that what has
// arrived is read back before a GPU before Hopper hears of it; over fakes of both libraries. What
// arrives is looked at where it is, and when it is told.

#include <gmock/gmock.h>

#include <map>

#include "backends/cpu/host_rank_memory.h"
#include "backends/cuda/gpu_rank_memory.h"
#include "backends/cuda/gpu_verbs_endpoint_maker.h"
#include "backends/verbs/opened_verbs.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_verbs/joined_ranks.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

constexpr int kSlots = 4;
constexpr Bytes kSlotSize{4096};

// Two ranks on one GPU, rank 0 writing to rank 1.
class GpuPair {
 public:
  explicit GpuPair(const fake::FakeDeviceSpec& nic,
                   const VerbsSettings& settings = fake::JoinedRanks::no_deadline())
      : hub_(2) {
    for (Rank rank = 0; rank < 2; ++rank) {
      ranks_.push_back(std::make_unique<OneRank>(*this, rank, nic, settings));
    }
    fake::for_ranks_at_once(2, [&](Rank rank) { at(rank).open(); });
    at(0).gpu.device().make_current();
  }

  // Anew for host memory, or for the GPU's.
  void open_again(bool host) {
    for (const auto& rank : ranks_) rank->endpoint.reset();
    fake::for_ranks_at_once(2, [&](Rank rank) {
      at(rank).gpu.device().make_current();
      host ? at(rank).open_host() : at(rank).open();
    });
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
  // What lay in the slot of each write when it was told that it had arrived.
  const std::vector<std::vector<std::byte>>& arrived() { return at(1).seen.arrived; }
  std::optional<RankFailure> failure() { return at(1).endpoint->failure(); }
  std::string flush_note(Rank rank) { return at(rank).verbs.flush_note(); }
  fake::FakeFabric& fabric() { return fabric_; }
  void fill_input(std::span<const std::byte> bytes) {
    at(0).memory.write({Region::kInput, {}}, bytes);
  }

 private:
  // Reads what has arrived as it is told.
  class Arrivals final : public CompletionSink {
   public:
    explicit Arrivals(GpuRankMemory& memory) : memory_(memory) {}
    void on_completion(const Completion& completion) override {
      const bool ok = completion.status == CompletionStatus::kOk;
      if (completion.kind != CompletionKind::kWriteArrived || !ok) return;
      std::vector<std::byte> bytes(100);
      memory_.read({Region::kSlots, kSlotSize * static_cast<std::int64_t>(arrived.size())}, bytes);
      arrived.push_back(std::move(bytes));
    }
    std::vector<std::vector<std::byte>> arrived;

   private:
    GpuRankMemory& memory_;
  };
  struct OneRank {
    OneRank(GpuPair& pair, Rank rank, fake::FakeDeviceSpec nic, const VerbsSettings& given)
        : gpu(0, fake::FakeCuda::library(), fake::kernel_image()),
          memory(gpu),
          exchange(pair.hub_, rank),
          verbs(
              exchange, given, [](const ConnectionEnd& /*end*/) { return 0; },
              [&pair, rank, nic](const VerbsSettings& settings) {
                fake::FakeDeviceSpec own = nic;
                own.ports = fake::roce_host(rank).ports;
                return std::make_unique<OpenedVerbs>(
                    std::make_unique<fake::FakeVerbs>(pair.fabric_, std::vector{own}), settings);
              }),
          maker(verbs, [this]() -> const CudaDevice& { return gpu.device(); }),
          host_maker(verbs),
          seen(memory) {}
    void open() { open(maker, memory); }
    void open_host() { open(host_maker, beside); }
    void open(EndpointMaker& makes, RankMemory& in) {
      const bool sends = exchange.rank() == 0;
      in.prepare({.input = {1000}, .output = {1000}, .slots = kSlotSize * kSlots});
      endpoint = makes.make({.connections = {{{0, 0, 1, 0}, sends, {}}},
                             .memory = in.regions(),
                             .slots = kSlots,
                             .slot_size = kSlotSize});
    }
    RankGpu gpu;
    GpuRankMemory memory;
    fake::MemoryExchange exchange;
    VerbsEndpointMaker verbs;
    GpuVerbsEndpointMaker maker;
    HostVerbsEndpointMaker host_maker;
    HostRankMemory beside;
    std::unique_ptr<Endpoint> endpoint;
    Arrivals seen;
  };
  OneRank& at(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  fake::FakeFabric fabric_;
  fake::MemoryExchangeHub hub_;
  std::vector<std::unique_ptr<OneRank>> ranks_;
};

// How many of all slots' writes arrive, and their bytes with them.
int writes_that_arrive_whole(GpuPair& pair) {
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  pair.fill_input(bytes);
  pair.write(kSlots);
  EXPECT_THAT(pair.arrived(), SizeIs(kSlots));
  int whole = 0;
  for (std::size_t i = 0; i < pair.arrived().size(); ++i) {
    const auto begin = bytes.begin() + 100 * static_cast<std::ptrdiff_t>(i);
    if (pair.arrived()[i] == std::vector<std::byte>(begin, begin + 100)) ++whole;
  }
  return whole;
}

void expect_writes_arrive(GpuPair& pair) { EXPECT_EQ(writes_that_arrive_whole(pair), kSlots); }

fake::FakeDeviceSpec nic_with_dma_buf() {
  fake::FakeDeviceSpec nic;
  nic.dma_buf_error = 0;
  return nic;
}

// As a ladder does: first from host memory, then from the GPU's, and so on.
TEST(VerbsGpuMemory, LiesBesideHostMemoryOfTheSameNics) {
  const fake::FakeCuda cuda("dmabuf=1");
  GpuPair pair(nic_with_dma_buf());
  EXPECT_EQ(pair.facts(0)["gpu_memory"], "dmabuf");
  pair.open_again(true);
  EXPECT_EQ(pair.facts(0).count("gpu_memory"), 0U);
  pair.open_again(false);
  EXPECT_EQ(pair.facts(0)["gpu_memory"], "dmabuf");
  expect_writes_arrive(pair);
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

// Where arrivals overtake their bytes.
fake::FakeDeviceSpec nic_whose_writes_wait() {
  fake::FakeDeviceSpec nic = nic_with_dma_buf();
  nic.device_writes_wait = true;
  nic.runs_by_itself = true;
  return nic;
}

TEST(VerbsGpuMemory, IsReadBackBeforeHopper) {
  const fake::FakeCuda cuda("dmabuf=1 capability=8.0");
  for (const auto mode :
       {CompletionMode::kPolling, CompletionMode::kEvents, CompletionMode::kAdaptive}) {
    VerbsSettings settings = fake::JoinedRanks::no_deadline();
    settings.completion = mode;
    GpuPair pair(nic_whose_writes_wait(), settings);
    EXPECT_EQ(pair.facts(0)["gpu_memory"], "dmabuf");
    EXPECT_EQ(pair.facts(1)["flush"], "the NIC reads back what has arrived");
    expect_writes_arrive(pair);
    EXPECT_THAT(pair.flush_note(1), MatchesRegex("NICs of rank 1 read back [1-4] times what had "
                                                 "arrived, each in [0-9.]+ us.*"));
    EXPECT_EQ(pair.flush_note(0), "");  // nothing came to it
    EXPECT_THAT(pair.fabric().mistakes, testing::IsEmpty());
  }
}

TEST(VerbsGpuMemory, IsNotWholeWhereItShouldBeReadBackAndIsNot) {
  const fake::FakeCuda cuda("dmabuf=1 capability=8.0");
  VerbsSettings settings = fake::JoinedRanks::no_deadline();
  settings.flush = FlushMode::kOff;
  GpuPair pair(nic_whose_writes_wait(), settings);
  EXPECT_EQ(writes_that_arrive_whole(pair), 0);
}

TEST(VerbsGpuMemory, IsReadBackFromHopperOnOnlyWhereAsked) {
  const fake::FakeCuda cuda("dmabuf=1 capability=9.0");
  fake::FakeDeviceSpec nic = nic_with_dma_buf();
  nic.runs_by_itself = true;
  EXPECT_EQ(GpuPair(nic).facts(1).count("flush"), 0U);
  VerbsSettings settings = fake::JoinedRanks::no_deadline();
  settings.flush = FlushMode::kOn;
  GpuPair pair(nic, settings);
  EXPECT_EQ(pair.facts(1).count("flush"), 1U);
  expect_writes_arrive(pair);
}

TEST(VerbsGpuMemory, IsStagedWhereANicCantReadItBack) {
  const fake::FakeCuda cuda("dmabuf=1 capability=8.6");
  fake::FakeDeviceSpec nic = nic_whose_writes_wait();
  nic.read_status = IBV_WC_REM_ACCESS_ERR;
  GpuPair pair(nic);
  EXPECT_EQ(pair.facts(0)["gpu_memory"], "host");
  EXPECT_THAT(pair.facts(0)["gpu_memory_why"],
              HasSubstr("fake0 port 1 can't read back what has arrived (flush): a read of its own "
                        "memory completed with \"remote access error\""));
  EXPECT_EQ(pair.facts(0).count("flush"), 0U);
  expect_writes_arrive(pair);
}

TEST(VerbsGpuMemory, TellsOfAReadBackThatFails) {
  const fake::FakeCuda cuda("dmabuf=1 capability=8.0");
  GpuPair pair(nic_whose_writes_wait());
  pair.fabric().verdict = [](const fake::FakeQp& /*qp*/, const fake::FakeSend& send) {
    return send.request.opcode == IBV_WR_RDMA_READ ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;
  };
  pair.write(2);
  EXPECT_THAT(pair.arrived(), testing::IsEmpty());
  ASSERT_TRUE(pair.failure());
  EXPECT_THAT(pair.failure()->what,
              HasSubstr("what has arrived can't be read back: the NIC's read of its own memory "
                        "completed with \"transport retry counter exceeded\""));
}

}  // namespace
}  // namespace gradhaul
