// What one GPU can show of itself: its reductions beside an oracle in float64, and what bandwidth
// they reach beside copies within the GPU's memory. Exit status 0, 1 where something is not as it
// should be, 77 where there is no GPU or no kernel for it.
//   --no-bandwidth   what is right alone

#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

#include "backends/cuda/gpu_rank_memory.h"
#include "core/workload_names.h"
#include "tests/backends/element_operands.h"

namespace gradhaul {
namespace {

constexpr int kNothingToCheck = 77;
// Far beyond the caches of any GPU.
constexpr std::int64_t kLarge = std::int64_t{512} << 20;
constexpr std::int64_t kSlice = std::int64_t{4} << 20;
constexpr int kStreams = 8;
constexpr int kRounds = 20;
// Of what a copy gives, at the least. A reduction reads two operands where a copy reads one, which
// memory does somewhat better, not worse.
constexpr double kLeastOfCopies = 0.85;

class Counter final : public CompletionSink {
 public:
  void on_completion(const Completion& /*completion*/) override { ++count; }
  std::int64_t count = 0;
};

void finish(GpuRankMemory& memory, std::int64_t requests) {
  Counter done;
  while (done.count < requests) memory.poll(done);
}

std::int64_t wrong_elements(GpuRankMemory& memory, DataType type, const NamedOperation& named,
                            std::int64_t shift) {
  const auto [left, right] = operands_of(type);
  const ReduceRequest request{.kind = ReduceKind::kReduce,
                              .target = {Region::kOutput, size_of(type) * shift},
                              .left = {Region::kInput, {}},
                              .right = {Region::kSlots, {shift}},
                              .count = static_cast<std::int64_t>(left.size()),
                              .datatype = type,
                              .reduction = named.reduction,
                              .divisor = named.divisor};
  memory.write(request.left, packed(type, left));
  memory.write(request.right, packed(type, right));
  memory.reducer().post_reduce(request);
  finish(memory, 1);
  std::vector<std::byte> result(left.size() * static_cast<std::size_t>(size_of(type).count));
  memory.read(request.target, result);
  const Elements elements = unpacked(type, result.data(), left.size());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto expected =
        oracle::reduced({type, named.reduction, named.divisor}, left[i], right[i]);
    if (elements[i] != expected) ++wrong;
  }
  return wrong;
}

bool check_results(GpuRankMemory& memory) {
  memory.prepare({.input = {200'000}, .output = {200'000}, .slots = {200'000}});
  bool right = true;
  for (const DataType type : kDataTypes) {
    std::int64_t wrong = 0;
    int cases = 0;
    for (const NamedOperation& named : kOperations) {
      for (const std::int64_t shift : {0, 1, 2, 3, 4, 16}) {
        wrong += wrong_elements(memory, type, named, shift);
        ++cases;
      }
    }
    std::printf("%-9s %3d operations and places: %lld elements wrong\n",
                std::string(name_of(type)).c_str(), cases, static_cast<long long>(wrong));
    right = right && wrong == 0;
  }
  return right;
}

// GB/s of memory read and written, by requests of `piece` bytes spread over `streams`.
double rate_of(GpuRankMemory& memory, ReduceRequest request, std::int64_t piece, int streams) {
  using Clock = std::chrono::steady_clock;
  const std::int64_t pieces = kLarge / piece;
  request.count = piece / size_of(request.datatype).count;
  const auto round = [&] {
    for (std::int64_t i = 0; i < pieces; ++i) {
      request.stream = static_cast<std::int32_t>(i % streams);
      request.target = {Region::kOutput, {i * piece}};
      request.left = {Region::kInput, {i * piece}};
      request.right = {Region::kSlots, {i * piece}};
      memory.reducer().post_reduce(request);
    }
  };
  round();
  finish(memory, pieces);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < kRounds; ++i) round();
  finish(memory, pieces * kRounds);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const int passes = request.kind == ReduceKind::kReduce ? 3 : 2;
  return static_cast<double>(kLarge) * passes * kRounds / seconds / 1e9;
}

bool check_bandwidth(GpuRankMemory& memory) {
  memory.prepare({.input = {kLarge}, .output = {kLarge}, .slots = {kLarge}});
  const double ceiling = rate_of(memory, ReduceRequest{}, kLarge, 1);  // of copies
  std::printf("copies within the GPU    %7.0f GB/s read and written\n", ceiling);
  bool fast = true;
  for (const DataType type : kDataTypes) {
    ReduceRequest request;
    request.kind = ReduceKind::kReduce;
    request.datatype = type;
    const double whole = rate_of(memory, request, kLarge, 1);
    const double slices = rate_of(memory, request, kSlice, kStreams);
    const bool enough = whole >= kLeastOfCopies * ceiling;
    std::printf("sum of %-8s          %7.0f GB/s, %.2f of copies%s; 4 MiB slices %.0f GB/s\n",
                std::string(name_of(type)).c_str(), whole, whole / ceiling,
                enough ? "" : " (too slow)", slices);
    fast = fast && enough;
  }
  return fast;
}

int check(bool bandwidth) {
  RankGpu gpu(0);
  try {
    std::printf("%s\n", name_of(gpu.device().gpu()).c_str());
  } catch (const CudaError& error) {
    std::printf("nothing to check: %s\n", error.what());
    return kNothingToCheck;
  }
  try {
    GpuRankMemory memory(gpu);
    const bool right = check_results(memory);
    const bool fast = !bandwidth || check_bandwidth(memory);
    return right && fast ? 0 : 1;
  } catch (const CudaError& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace gradhaul

int main(int count, char** arguments) {
  return gradhaul::check(count < 2 || std::string_view(arguments[1]) != "--no-bandwidth");
}
