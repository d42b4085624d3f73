// How fast the CPU reducer's kernels are, beside memcpy: bytes of the message a second (each is
// read twice and written once; memcpy reads and writes each once). The small size stays in the
// second level of cache, the large one is in memory.

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/element_kernels.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kInCache = 256 * 1024;
constexpr std::int64_t kInMemory = 256 * 1024 * 1024;

// fp16, bf16, fp32 and int32 numbers of ordinary size, whichever they are read as.
std::vector<std::byte> ordinary_numbers(std::int64_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i % 2 == 0 ? i * 37 : 0x3f);
  }
  return bytes;
}

void copy(benchmark::State& state) {
  const std::int64_t size = state.range(0);
  const std::vector<std::byte> source = ordinary_numbers(size);
  std::vector<std::byte> target = ordinary_numbers(size);
  while (state.KeepRunning()) {
    std::memcpy(target.data(), source.data(), source.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * size);
}

struct Kernel {
  InstructionSet set;
  DataType type;
  ElementOperation operation;
};

void reduce(benchmark::State& state, const Kernel& kernel) {
  const std::int64_t size = state.range(0);
  const std::vector<std::byte> left = ordinary_numbers(size);
  const std::vector<std::byte> right = ordinary_numbers(size);
  std::vector<std::byte> target = ordinary_numbers(size);
  const ElementOperands operands{.target = target.data(),
                                 .left = left.data(),
                                 .right = right.data(),
                                 .count = size / size_of(kernel.type).count,
                                 .divisor = 8};
  const ElementKernel run = element_kernels(kernel.set).at(kernel.type, kernel.operation);
  while (state.KeepRunning()) {
    run(operands);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * size);
}

void register_all() {
  static constexpr std::array kSets{"baseline", "avx2", "avx512"};
  static constexpr std::array kTypes{"fp32", "fp16", "bf16", "int32"};
  static constexpr std::array kOperations{"sum", "avg", "max", "min"};
  benchmark::RegisterBenchmark("memcpy", copy)->Arg(kInCache)->Arg(kInMemory);
  for (std::size_t set = 0; set < kSets.size(); ++set) {
    if (!available(static_cast<InstructionSet>(set))) continue;
    for (std::size_t type = 0; type < kTypes.size(); ++type) {
      for (std::size_t operation = 0; operation < kOperations.size(); ++operation) {
        const Kernel kernel{static_cast<InstructionSet>(set), static_cast<DataType>(type),
                            static_cast<ElementOperation>(operation)};
        const std::string name =
            std::string(kTypes[type]) + "/" + kOperations[operation] + "/" + kSets[set];
        benchmark::RegisterBenchmark(name.c_str(), reduce, kernel)->Arg(kInCache)->Arg(kInMemory);
      }
    }
  }
}

}  // namespace
}  // namespace gradhaul

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  gradhaul::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
