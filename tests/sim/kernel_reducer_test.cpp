// Reduce and copy kernels: rates, order, and the memory they share.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/sim/cluster_examples.h"
#include "tests/sim/transport_world.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

struct Done {
  int stream;
  std::int64_t time;
  friend bool operator==(const Done&, const Done&) = default;
};

// Two ranks that only reduce.
class Kernels {
 public:
  Kernels(BitRate reduce, BitRate memory) : world_(cluster(reduce, memory), {}, {{}, {}}, 3) {
    for (Rank rank = 0; rank < 2; ++rank) {
      sinks_.emplace_back(*this, rank);
    }
    for (Rank rank = 0; rank < 2; ++rank)
      world_.connect(rank, sinks_[static_cast<std::size_t>(rank)]);
  }

  void post(std::int64_t time, Rank rank, int stream, std::int64_t bytes, ReduceKind kind) {
    world_.at(time, [this, rank, stream, bytes, kind] {
      ReduceRequest request;
      request.stream = stream;
      request.kind = kind;
      request.count = bytes / 4;
      request.datatype = DataType::kFp32;
      world_.reducer(rank).post_reduce(request);
    });
  }
  std::vector<Done> run(Rank rank) {
    while (world_.step()) {
    }
    return done_[rank];
  }
  const KernelReducer& kernels() const { return world_.kernels(); }

 private:
  struct Sink final : CompletionSink {
    Sink(Kernels& kernels, Rank of) : all(kernels), rank(of) {}
    void on_completion(const Completion& completion) override {
      EXPECT_EQ(completion.kind, CompletionKind::kReduceDone);
      all.done_[rank].push_back({completion.id, all.world_.now()});
    }
    Kernels& all;
    Rank rank;
  };
  static Cluster cluster(BitRate reduce, BitRate memory) {
    Cluster cluster = ideal_cluster(2);
    cluster.network.topology.leaves = 1;
    cluster.node.gpu.reduce_bandwidth = reduce;
    cluster.node.gpu.memory_bandwidth = memory;
    return cluster;
  }

  TransportWorld world_;
  std::vector<Sink> sinks_;
  std::map<Rank, std::vector<Done>> done_;
};

TEST(KernelReducer, WithoutLimitsTakesNoTime) {
  Kernels kernels(kUnlimited, kUnlimited);
  kernels.post(500, 0, 1, 4'000'000, ReduceKind::kReduce);
  EXPECT_EQ(kernels.run(0), (std::vector<Done>{{1, 500}}));
}

// 40 GB/s a stream: 25 ps a byte. Streams of a rank work side by side, requests of one in turn.
TEST(KernelReducer, EachStreamWorksAtTheRateOfOneChannel) {
  Kernels kernels(40_GBps, kUnlimited);
  kernels.post(0, 0, 0, 4000, ReduceKind::kReduce);
  kernels.post(0, 0, 0, 400, ReduceKind::kCopy);
  kernels.post(50'000, 0, 1, 4000, ReduceKind::kReduce);
  kernels.post(10'000, 1, 0, 4000, ReduceKind::kReduce);
  kernels.post(500'000, 0, 0, 4000, ReduceKind::kReduce);
  EXPECT_EQ(kernels.run(0),
            (std::vector<Done>{{0, 100'000}, {0, 110'000}, {1, 150'000}, {0, 600'000}}));
  EXPECT_EQ(kernels.run(1), (std::vector<Done>{{0, 110'000}}));
  EXPECT_EQ(kernels.kernels().busy(0), 310'000);
  EXPECT_EQ(kernels.kernels().bytes(0), 12'400);
}

// Memory of 100 GB/s, 10 ps a byte: a reduction moves each byte thrice, a copy twice.
TEST(KernelReducer, MemoryHoldsBackWhatKernelsCouldDo) {
  Kernels kernels(kUnlimited, 100_GBps);
  kernels.post(0, 0, 0, 4000, ReduceKind::kReduce);
  kernels.post(0, 0, 1, 4000, ReduceKind::kCopy);
  EXPECT_EQ(kernels.run(0), (std::vector<Done>{{0, 120'000}, {1, 200'000}}));
  // 25 ps a byte in the kernel, 30 in memory: the slower counts, not both.
  Kernels both(40_GBps, 100_GBps);
  both.post(0, 0, 0, 4000, ReduceKind::kReduce);
  EXPECT_EQ(both.run(0), (std::vector<Done>{{0, 120'000}}));
}

TEST(KernelReducer, HoldsItsRateOverATrain) {
  Kernels kernels(BitRate{37'000'000'000 * 8}, kUnlimited);
  for (int i = 0; i < 370; ++i) kernels.post(0, 0, 0, 400, ReduceKind::kReduce);
  EXPECT_EQ(kernels.run(0).back().time, 4'000'000);  // 148 kB
}

}  // namespace
}  // namespace gradhaul
