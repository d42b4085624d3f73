// GPUs as CUDA's driver shows them, and what is told where there are none.

#include "backends/cuda/cuda_device.h"

#include <gmock/gmock.h>

#include "backends/cuda/gpu_rank_memory.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const CudaError& error) {
    return error.what();
  }
  return "";
}

TEST(CudaDriver, SaysWhatItTakesWhereThereIsNone) {
  EXPECT_THAT(error_of([] { open_cuda_driver("libcuda-of-nobody.so.1"); }),
              AllOf(HasSubstr("CUDA's driver can't be opened: libcuda-of-nobody.so.1"),
                    HasSubstr("NVIDIA's driver"), HasSubstr("nvidia-smi")));
}

// Every process has this library, and it is none of CUDA's.
TEST(CudaDriver, NamesWhatALibraryLacks) {
  EXPECT_THAT(error_of([] { open_cuda_driver("libc.so.6"); }), HasSubstr("has no cuInit"));
}

TEST(CudaDriver, SaysThatItSeesNoGpu) {
  const fake::FakeCuda cuda("devices=0");
  EXPECT_THAT(error_of([] { open_cuda_driver(fake::FakeCuda::library()); }),
              HasSubstr("sees no GPU"));
}

TEST(CudaDevice, IsListedWithWhatItIs) {
  const fake::FakeCuda cuda("devices=2 capability=8.6 memory=64 dmabuf=1");
  const auto gpus = list_gpus(open_cuda_driver(fake::FakeCuda::library()));
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(name_of(gpus[1]), "GPU 1 (Fake GPU at 0000:02:00.0)");
  EXPECT_EQ(gpus[1].capability_major, 8);
  EXPECT_EQ(gpus[1].capability_minor, 6);
  EXPECT_EQ(gpus[1].memory, Bytes{64 << 20});
  EXPECT_TRUE(gpus[1].dma_buf);
}

TEST(CudaDevice, RefusesKernelsThatAreNoneOrMissing) {
  const fake::FakeCuda cuda;
  const CudaDriver driver = open_cuda_driver(fake::FakeCuda::library());
  EXPECT_THAT(error_of([&] { CudaDevice(driver, 0, nullptr); }),
              AllOf(HasSubstr("built without GPU kernels"), HasSubstr("nvcc")));
  const std::uint32_t nothing = 0;
  EXPECT_THAT(error_of([&] { CudaDevice(driver, 0, &nothing); }),
              HasSubstr("does not load the reduce kernels"));
}

TEST(CudaDevice, IsTakenInTurnByRanksOfANode) {
  const fake::FakeCuda cuda("devices=3");
  for (const auto& [place, ordinal] : {std::pair{0, 0}, {2, 2}, {3, 0}, {7, 1}}) {
    RankGpu gpu(place, fake::FakeCuda::library(), fake::kernel_image());
    EXPECT_EQ(gpu.device().gpu().ordinal, ordinal);
    EXPECT_EQ(gpu.count(), 3);
  }
}

TEST(GpuRankMemory, GivesAllBack) {
  const fake::FakeCuda cuda;
  const std::size_t before = cuda.live_objects();
  {
    RankGpu gpu(0, fake::FakeCuda::library(), fake::kernel_image());
    GpuRankMemory memory(gpu);
    memory.prepare({.input = {1000}, .output = {1000}, .slots = {100}});
    memory.prepare({.input = {5000}, .output = {9000}, .slots = {}, .in_place = true});
    EXPECT_EQ(memory.regions().input.data(), memory.regions().output.data());
    EXPECT_EQ(memory.regions().input.size(), 9000U);
    const std::vector<std::byte> written(5000, std::byte{7});
    std::vector<std::byte> read(5000);
    memory.write({Region::kOutput, {3000}}, written);
    memory.read({Region::kInput, {3000}}, read);
    EXPECT_EQ(read, written);
    EXPECT_GT(cuda.live_objects(), before);
  }
  EXPECT_EQ(cuda.live_objects(), before);
}

}  // namespace
}  // namespace gradhaul
