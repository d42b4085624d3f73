#include "analysis/nccl_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace gradhaul {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

template <std::size_t N>
std::optional<std::string> found(const std::array<Pair, N>& pairs, std::string_view name) {
  for (const auto& [from, to] : pairs) {
    if (from == name) return std::string(to);
  }
  return std::nullopt;
}

std::string in_small_letters(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

}  // namespace

std::optional<std::string> datatype_of_nccl(std::string_view name) {
  // nccl-tests src/common.cu: test_typenames; char and half are those of older releases.
  static constexpr std::array<Pair, 14> kTypes{{{"float", "fp32"},
                                                {"half", "fp16"},
                                                {"bfloat16", "bf16"},
                                                {"int32", "int32"},
                                                {"int", "int32"},
                                                {"double", "fp64"},
                                                {"int8", "int8"},
                                                {"char", "int8"},
                                                {"uint8", "uint8"},
                                                {"uint32", "uint32"},
                                                {"int64", "int64"},
                                                {"uint64", "uint64"},
                                                {"f8e4m3", "fp8_e4m3"},
                                                {"f8e5m2", "fp8_e5m2"}}};
  return found(kTypes, name);
}

std::optional<std::string> collective_of_program(std::string_view name) {
  static constexpr std::array<Pair, 10> kPrograms{{{"all_reduce_perf", "all_reduce"},
                                                   {"all_gather_perf", "all_gather"},
                                                   {"reduce_scatter_perf", "reduce_scatter"},
                                                   {"alltoall_perf", "all_to_all"},
                                                   {"sendrecv_perf", "send_recv"},
                                                   {"broadcast_perf", "broadcast"},
                                                   {"reduce_perf", "reduce"},
                                                   {"gather_perf", "gather"},
                                                   {"scatter_perf", "scatter"},
                                                   {"hypercube_perf", "hypercube"}}};
  return found(kPrograms, name);
}

std::optional<std::string> collective_of_function(std::string_view name) {
  static constexpr std::array<Pair, 7> kFunctions{{{"AllReduce", "all_reduce"},
                                                   {"AllGather", "all_gather"},
                                                   {"ReduceScatter", "reduce_scatter"},
                                                   {"AlltoAll", "all_to_all"},
                                                   {"SendRecv", "send_recv"},
                                                   {"Broadcast", "broadcast"},
                                                   {"Reduce", "reduce"}}};
  return found(kFunctions, name);
}

bool is_reduction(std::string_view word) {
  static constexpr std::array<std::string_view, 8> kWords{"sum", "prod", "max",  "min",
                                                          "avg", "all",  "none", "mulsum"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

std::string algorithm_of_nccl(std::string_view name) {
  const std::string small = in_small_letters(name);
  if (small == "tree" || small == "0") return "double_binary_tree";
  if (small == "1") return "ring";
  return small;
}

std::string protocol_of_nccl(std::string_view name) {
  static constexpr std::array<Pair, 3> kNumbers{{{"0", "ll"}, {"1", "ll128"}, {"2", "simple"}}};
  if (const auto protocol = found(kNumbers, name)) return *protocol;
  return in_small_letters(name);
}

}  // namespace gradhaul
