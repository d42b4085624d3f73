// Reductions of a GPU, by the very kernels, which a fake GPU runs on the host.

#include "backends/cuda/gpu_reducer.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "backends/cuda/gpu_rank_memory.h"
#include "tests/backends/element_operands.h"
#include "tests/backends/reduced_streams.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GpuReducerTest : public testing::Test {
 protected:
  explicit GpuReducerTest(const std::string& layout = "")
      : cuda_(layout), gpu_(0, fake::FakeCuda::library(), fake::kernel_image()) {}

  void prepare(Bytes size) { memory_.prepare({.input = size, .output = size, .slots = size}); }
  void run(const ReduceRequest& request) {
    const std::size_t before = sink_.seen.size();
    memory_.reducer().post_reduce(request);
    EXPECT_TRUE(memory_.busy());
    for (int looks = 0; looks < 1000 && sink_.seen.size() == before; ++looks) memory_.poll(sink_);
    ASSERT_EQ(sink_.seen.size(), before + 1);
    EXPECT_FALSE(memory_.busy());
  }

  fake::FakeCuda cuda_;
  RankGpu gpu_;
  GpuRankMemory memory_{gpu_};
  ReducedStreams sink_;
};

// Where operands lie in their regions, in bytes: each width of loads, and before and after them.
struct Offsets {
  std::int64_t target = 0;
  std::int64_t left = 0;
  std::int64_t right = 0;
};

TEST_F(GpuReducerTest, GivesTheOraclesBitsWhereverOperandsLie) {
  const auto count_wrong = [&](const DataType type, const NamedOperation& named,
                               const Offsets& offsets) {
    const auto [left, right] = operands_of(type);
    const auto count = static_cast<std::int64_t>(left.size());
    ReduceRequest request{.kind = ReduceKind::kReduce,
                          .target = {Region::kOutput, {offsets.target}},
                          .left = {Region::kInput, {offsets.left}},
                          .right = {Region::kSlots, {offsets.right}},
                          .count = count,
                          .datatype = type,
                          .reduction = named.reduction,
                          .divisor = named.divisor};
    memory_.write(request.left, packed(type, left));
    memory_.write(request.right, packed(type, right));
    run(request);
    std::vector<std::byte> result(left.size() * static_cast<std::size_t>(size_of(type).count));
    memory_.read(request.target, result);
    const Elements elements = unpacked(type, result.data(), left.size());
    int wrong = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const std::uint32_t expected =
          oracle::reduced({type, named.reduction, named.divisor}, left[i], right[i]);
      if (elements[i] != expected) ++wrong;
    }
    return wrong;
  };
  prepare({100'000});
  for (const DataType type : kDataTypes) {
    const std::int64_t element = size_of(type).count;
    for (const NamedOperation& named : kOperations) {
      for (const Offsets& offsets :
           {Offsets{}, Offsets{16, 32, 0}, Offsets{element, element, element}, Offsets{4, 0, 8},
            Offsets{element, 0, 2}, Offsets{3 * element, 1, 7}}) {
        EXPECT_EQ(count_wrong(type, named, offsets), 0)
            << static_cast<int>(type) << " " << static_cast<int>(named.operation) << " at "
            << offsets.target << ", " << offsets.left << ", " << offsets.right;
      }
    }
  }
}

// Every number of elements about a vector and a block, at every place of a vector: nothing beside
// the target is touched.
TEST_F(GpuReducerTest, TouchesItsTargetAlone) {
  prepare({4096});
  const std::vector<std::byte> ones(4096, std::byte{1});
  const std::vector<std::byte> untouched(4096, std::byte{0x55});
  const auto expect_alone = [&](DataType type, std::int64_t count, std::int64_t offset) {
    memory_.write({Region::kInput, {}}, ones);
    memory_.write({Region::kSlots, {}}, ones);
    memory_.write({Region::kOutput, {}}, untouched);
    run({.kind = ReduceKind::kReduce,
         .target = {Region::kOutput, {offset}},
         .left = {Region::kInput, {}},
         .right = {Region::kSlots, {}},
         .count = count,
         .datatype = type});
    std::vector<std::byte> found(4096);
    memory_.read({Region::kOutput, {}}, found);
    std::vector<std::byte> expected = untouched;
    std::fill_n(expected.begin() + offset, count * size_of(type).count, std::byte{2});
    EXPECT_EQ(found, expected) << count << " elements at " << offset;
  };
  for (const DataType type : {DataType::kInt32, DataType::kInt8}) {
    for (const std::int64_t count : {1, 2, 3, 4, 5, 7, 8, 9, 31, 255, 1000}) {
      for (std::int64_t offset = 0; offset < 16; offset += size_of(type).count) {
        expect_alone(type, count, offset);
      }
    }
  }
}

TEST_F(GpuReducerTest, DoesNothingBeforeItsTurnAndKeepsTheOrderOfAStream) {
  prepare({64});
  const std::vector<std::byte> ones(64, std::byte{1});
  const std::vector<std::byte> zeros(64, std::byte{0});
  memory_.write({Region::kInput, {}}, ones);
  memory_.write({Region::kSlots, {}}, ones);
  memory_.write({Region::kOutput, {}}, zeros);
  ReduceRequest copy{.stream = 1,
                     .kind = ReduceKind::kCopy,
                     .target = {Region::kOutput, {}},
                     .left = {Region::kInput, {}},
                     .right = {},
                     .count = 16};
  ReduceRequest onto{.stream = 1,
                     .kind = ReduceKind::kReduce,
                     .target = {Region::kOutput, {}},
                     .left = {Region::kOutput, {}},
                     .right = {Region::kSlots, {}},
                     .count = 16,
                     .datatype = DataType::kInt32};
  memory_.reducer().post_reduce(copy);
  memory_.reducer().post_reduce(onto);
  memory_.reducer().post_reduce(onto);
  const std::byte* const output = cuda_.view(memory_.regions().output.data(), 64);
  EXPECT_EQ(output[0], std::byte{0});
  EXPECT_TRUE(sink_.seen.empty());
  for (int looks = 0; looks < 100 && sink_.seen.size() < 3; ++looks) memory_.poll(sink_);
  EXPECT_THAT(sink_.seen, ElementsAre(1, 1, 1));
  EXPECT_EQ(output[0], std::byte{3});
  EXPECT_EQ(output[63], std::byte{3});
}

TEST_F(GpuReducerTest, HoldsItsUserToTheContract) {
  prepare({64});
  ReduceRequest outside{.kind = ReduceKind::kReduce,
                        .target = {Region::kOutput, {4}},
                        .left = {Region::kInput, {}},
                        .right = {Region::kSlots, {}},
                        .count = 16};
  EXPECT_DEATH(memory_.reducer().post_reduce(outside), "within its region");
  outside.target = {Region::kOutput, {2}};
  outside.count = 1;
  EXPECT_DEATH(memory_.reducer().post_reduce(outside), "multiple of its elements");
}

class BrokenGpuTest : public GpuReducerTest {
 protected:
  BrokenGpuTest() : GpuReducerTest("kernel_error=2 memory=8") {}
};

TEST_F(BrokenGpuTest, TellsOfAKernelThatFails) {
  prepare({64});
  const ReduceRequest request{.kind = ReduceKind::kReduce,
                              .target = {Region::kOutput, {}},
                              .left = {Region::kInput, {}},
                              .right = {Region::kSlots, {}},
                              .count = 16};
  run(request);
  memory_.reducer().post_reduce(request);
  try {
    for (int looks = 0; looks < 1000; ++looks) memory_.poll(sink_);
    FAIL() << "nothing was said";
  } catch (const CudaError& error) {
    EXPECT_THAT(error.what(), HasSubstr("GPU 0 (Fake GPU at 0000:01:00.0): a reduction or a copy "
                                        "failed: an illegal memory access was encountered"));
  }
  EXPECT_EQ(sink_.seen.size(), 1U);
}

// Of 8 MiB: an output of 2, slots of 2, and no input of 6.
TEST_F(BrokenGpuTest, TellsOfMemoryThatIsNotThere) {
  try {
    memory_.prepare({.input = {5'000'000}, .output = {1000}, .slots = {1}});
    FAIL() << "nothing was said";
  } catch (const CudaError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no 0.01 GB left for a rank's input: 0.00 GB of its "
                                        "0.01 GB are free"));
    EXPECT_THAT(error.what(), HasSubstr("fewer ranks to a GPU"));
  }
}

}  // namespace
}  // namespace gradhaul
