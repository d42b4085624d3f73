// gradhaul measure --memory gpu, over a fake libcuda that runs the program's kernels on the host.

#include <cstdlib>
#include <filesystem>

#include "backends/cuda/cuda_device.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/program/measure_runs.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSizes = "workload.size=[4B, 100B, 12348B, 200004B]";

// Programs started while it lives find the fake, and this machine.
class FakeMachine {
 public:
  explicit FakeMachine(const std::string& layout = "") {
    setenv("LD_LIBRARY_PATH", fake::cuda_folder().c_str(), 1);
    setenv("FAKE_CUDA", layout.c_str(), 1);
  }
  ~FakeMachine() { unsetenv("LD_LIBRARY_PATH"); }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;
};

ProgramRun measure_gpu(const std::string& backend, const std::vector<std::string>& settings,
                       std::vector<std::string> options) {
  for (const char* option : {"--memory=gpu", "--iterations=1", "--warmup=0", "--timeout=60s"}) {
    options.emplace_back(option);
  }
  return run_program(measure(backend, settings, options));
}

class GpuMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (reduce_kernel_image() == nullptr) GTEST_SKIP() << "built without nvcc, and so kernels";
  }

  static nlohmann::json measured_gpu(const std::string& backend, int ranks,
                                     const std::vector<std::string>& settings) {
    const std::string json = temporary_file("gpu.json");
    const ProgramRun run =
        measure_gpu(backend, settings, {"--ranks", std::to_string(ranks), "--json", json});
    EXPECT_EQ(run.status, 0) << run.err;
    if (run.status != 0) return {};
    return nlohmann::json::parse(text_of(json));
  }
};

void expect_all_right(const nlohmann::json& result, std::size_t rows) {
  ASSERT_EQ(result["rows"].size(), rows);
  for (const nlohmann::json& row : result["rows"]) EXPECT_EQ(row["wrong"], 0) << row.dump();
}

TEST_F(GpuMemory, IsRightForEveryDataTypeAndReduction) {
  const FakeMachine machine("devices=2");
  for (const char* datatype : {"fp32", "fp16", "bf16", "int32"}) {
    for (const char* reduction : {"sum", "avg", "max", "min"}) {
      SCOPED_TRACE(std::string(datatype) + " " + reduction);
      // Slots at odd places, so that elements lie anywhere.
      const std::vector<std::string> settings{
          "workload.size=[4B, 12348B, 50004B]", std::string("workload.datatype=") + datatype,
          std::string("workload.reduction=") + reduction, "communication.slot_size=1027B"};
      expect_all_right(measured_gpu("loopback", 3, settings), 6);
    }
  }
}

TEST_F(GpuMemory, StagesForSocketsAndSaysWhy) {
  const FakeMachine machine;
  const nlohmann::json result = measured_gpu("tcp", 3, {kSizes});
  expect_all_right(result, 8);
  EXPECT_EQ(result["engine"]["memory"], "gpu");
  EXPECT_EQ(result["engine"]["gpu"], "Fake GPU at 0000:01:00.0, compute capability 9.0");
  EXPECT_EQ(result["engine"]["gpu_memory"], "host");
  EXPECT_EQ(result["engine"]["gpu_memory_why"], "sockets take host memory alone");
}

TEST_F(GpuMemory, IsCopiedBetweenThreadsOfAProcess) {
  const FakeMachine machine("devices=2 peers=0");
  const nlohmann::json result =
      measured_gpu("loopback", 4, {kSizes, "workload.collective=all_to_all"});
  expect_all_right(result, 4);
  EXPECT_THAT(result["engine"]["path"].get<std::string>(), HasSubstr("copies by the GPU"));
  EXPECT_THAT(result["notes"].dump(),
              HasSubstr("GPU 0 (Fake GPU at 0000:01:00.0) can't write to GPU 1 itself"));
}

// Four processes, two to a node, each pair on two GPUs.
class WithinNodes : public GpuMemory {
 protected:
  static nlohmann::json measured_pairs(const std::vector<std::string>& options = {}) {
    const std::string json = temporary_file("within.json");
    std::vector<std::string> all{"--json", json};
    all.insert(all.end(), options.begin(), options.end());
    const ProgramRun run = measure_gpu("tcp",
                                       {kSizes, "cluster.nodes=2", "cluster.ranks_per_node=2",
                                        "cluster.node=hgx-h100", "communication.channels=2"},
                                       all);
    EXPECT_EQ(run.status, 0) << run.err;
    if (run.status != 0) return {};
    return nlohmann::json::parse(text_of(json));
  }
};

TEST_F(WithinNodes, IsCopiedBetweenProcessesByCudaIpc) {
  const FakeMachine machine("devices=2");
  const nlohmann::json result = measured_pairs();
  expect_all_right(result, 8);
  EXPECT_EQ(result["engine"]["within_node"], "copies by the GPU, CUDA IPC");
  EXPECT_EQ(result["engine"]["gpu_memory"], "host");  // between the nodes
  EXPECT_THAT(result["notes"].dump(), Not(HasSubstr("over the network")));
}

TEST_F(WithinNodes, IsCopiedBetweenProcessesOnOneGpuToo) {
  const FakeMachine machine("devices=1 peers=0");
  EXPECT_EQ(measured_pairs()["engine"]["within_node"], "copies by the GPU, CUDA IPC");
}

TEST_F(WithinNodes, GoesOverTheNetworkWhereAskedOrWhereGpusDontReachEachOther) {
  std::optional<FakeMachine> machine("devices=2");
  EXPECT_EQ(measured_pairs({"--within-node=network"})["engine"].count("within_node"), 0U);
  machine.emplace("devices=2 peers=0");
  const nlohmann::json apart = measured_pairs();
  expect_all_right(apart, 8);
  EXPECT_EQ(apart["engine"].count("within_node"), 0U);
  EXPECT_THAT(apart["notes"].dump(),
              HasSubstr("rank 0 reaches rank 1 of its node over the network, not through memory: "
                        "GPU 0 (Fake GPU at 0000:01:00.0) can't open memory of its GPU 1 (Fake GPU "
                        "at 0000:02:00.0) (CUDA IPC): peer access is not supported between these "
                        "two devices (CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)"));
  machine.emplace("devices=2 ipc=0");
  const nlohmann::json without = measured_pairs();
  expect_all_right(without, 8);
  EXPECT_THAT(
      without["notes"].dump(),
      HasSubstr("rank 0 is reached over the network, also by ranks of its node: GPU 0 (Fake "
                "GPU at 0000:01:00.0) gives no handle of its memory (CUDA IPC): operation "
                "not supported"));
}

// All pairs of four, and slots of another size for each row: what was opened is closed in time, or
// the fake ends whoever gives it back.
TEST_F(GpuMemory, IsGivenBackOnlyWhenNoProcessHasItOpen) {
  const FakeMachine machine("devices=2");
  const std::string json = temporary_file("exchange.json");
  const ProgramRun run = measure_gpu("tcp",
                                     {kSizes, "cluster.nodes=1", "cluster.ranks_per_node=4",
                                      "cluster.node=hgx-h100", "workload.collective=all_to_all"},
                                     {"--json", json});
  ASSERT_EQ(run.status, 0) << run.err;
  expect_all_right(nlohmann::json::parse(text_of(json)), 4);
}

TEST_F(GpuMemory, CalibratesReductionsAndCopies) {
  const FakeMachine machine("memory=1024");
  const std::string json = temporary_file("calibration.json");
  const std::string gpu = temporary_file("my-gpu.yaml");
  const ProgramRun run = run_program(
      {"calibrate", "--backend=loopback", "--memory=gpu", "--ranks=2", "--sizes=8B,4KiB",
       "--depths=1,2", "--messages=4", "--iterations=5", "--json", json, "--write-gpu", gpu});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto result = nlohmann::json::parse(text_of(json));
  EXPECT_EQ(result["engine"]["memory"], "gpu");
  EXPECT_THAT(text_of(gpu), AllOf(HasSubstr("added up by the GPU"), HasSubstr("B by the GPU"),
                                  Not(HasSubstr("by one thread"))));
}

TEST_F(GpuMemory, HasARungOfItsOwnInLadders) {
  const FakeMachine machine("devices=2");
  const std::string json = temporary_file("gpu_ladder.json");
  for (const char* backend : {"loopback", "tcp"}) {
    SCOPED_TRACE(backend);
    const ProgramRun run =
        measure_gpu(backend, {"workload.size=[12348B]"}, {"--ranks=2", "--ladder", "--json", json});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("memory alone")));
    const auto result = nlohmann::json::parse(text_of(json));
    ASSERT_EQ(result["rows"].size(), 5U);
    for (const std::size_t rung : {1U, 2U, 3U, 4U}) {
      EXPECT_GT(result["rows"][rung]["time_us"], 0) << result["rows"][rung].dump();
    }
    EXPECT_EQ(result["rows"][1]["rung"], "host_pair");
    EXPECT_EQ(result["rows"][2]["rung"], "gpu_pair");
  }
}

TEST_F(GpuMemory, IsWrittenBetweenPairsAndPredictedSo) {
  const FakeMachine machine("devices=2");
  // An H100 of hgx-h100 below the same PCIe switch as its NIC; reads of it are answered later than
  // those of host memory, or sooner: whichever, not as those.
  double predicted[2] = {};
  for (const bool gpu : {false, true}) {
    const std::string json = temporary_file("gpu_pairs.json");
    std::vector<std::string> options{
        "--ranks=2", "--pairs", "--iterations=1", "--warmup=0", "--timeout=60s", "--json", json};
    if (gpu) options.emplace_back("--memory=gpu");
    const ProgramRun run =
        run_program(measure("tcp", {"workload.size=[12348B]", "cluster.node=hgx-h100"}, options));
    ASSERT_THAT(run.status, testing::AnyOf(0, 3)) << run.err;
    const std::string memory = gpu ? "GPU memory" : "host memory";
    EXPECT_THAT(run.out, HasSubstr("from " + memory + " to " + memory));
    const auto result = nlohmann::json::parse(text_of(json));
    EXPECT_EQ(result["memory"], gpu ? "gpu" : "host");
    predicted[gpu ? 1 : 0] = result["pairs"][0]["predicted_us"];
  }
  EXPECT_NE(predicted[0], predicted[1]);
}

TEST_F(GpuMemory, TellsOfAKernelThatFails) {
  const FakeMachine machine("kernel_error=2");
  for (const char* backend : {"loopback", "tcp"}) {
    const ProgramRun run = measure_gpu(backend, {kSizes}, {"--ranks=2"});
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_THAT(run.err, AllOf(HasSubstr("the run failed: rank "),
                               HasSubstr("GPU 0 (Fake GPU at 0000:01:00.0): "),
                               HasSubstr("an illegal memory access was encountered")));
  }
}

TEST_F(GpuMemory, TellsThatThereIsTooLittleOfIt) {
  const FakeMachine machine("memory=16");
  const ProgramRun run = measure_gpu("tcp", {"workload.size=64MiB"}, {"--ranks=2"});
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("has no 0.07 GB left for a rank's output"),
                             HasSubstr("Take a smaller size")));
}

TEST_F(GpuMemory, TellsThatThereIsNoGpu) {
  const FakeMachine machine("devices=0");
  const ProgramRun run = measure_gpu("loopback", {kSizes}, {"--ranks=2"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("the run failed: --memory gpu: CUDA's driver is there, and sees "
                                 "no GPU"));
}

// Whoever started the others tells them.
TEST_F(GpuMemory, TellsAllRanksOfTheOneWithout) {
  const std::string rendezvous = free_rendezvous();
  const auto arguments = [&](int rank) {
    return measure("tcp", {kSizes},
                   {"--ranks=2", "--memory=gpu", "--rank", std::to_string(rank), "--rendezvous",
                    rendezvous, "--timeout=20s"});
  };
  std::optional<FakeMachine> machine("devices=1");
  BackgroundProgram with("with", arguments(0));
  machine.emplace("devices=0");
  const ProgramRun without = run_program(arguments(1));
  EXPECT_EQ(without.status, 1);
  EXPECT_THAT(without.err, HasSubstr("sees no GPU"));
  const ProgramRun told = with.end();
  EXPECT_EQ(told.status, 1);
  EXPECT_THAT(told.err, HasSubstr("rank 1: CUDA's driver is there, and sees no GPU"));
}

TEST(GpuMemoryOption, IsOfHostOrGpu) {
  const ProgramRun run = run_program(measure("loopback", {kSizes}, {"--memory=gpus"}));
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("--memory gpus: there is no such memory"),
                             HasSubstr("did you mean \"gpu\"?")));
}

}  // namespace
}  // namespace gradhaul
