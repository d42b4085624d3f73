#pragma once

// Names of nccl-tests and NCCL in terms of result files.

#include <optional>
#include <string>
#include <string_view>

namespace gradhaul {

// "bfloat16" -> "bf16", "float" -> "fp32", …; nothing where nccl-tests has no such type.
std::optional<std::string> datatype_of_nccl(std::string_view name);

// "all_reduce_perf", "AllReduce", "SendRecv" -> "all_reduce", "send_recv"; nothing where it is
// none.
std::optional<std::string> collective_of_program(std::string_view name);
std::optional<std::string> collective_of_function(std::string_view name);

// Whether a word is a reduction as nccl-tests prints them, "none" too.
bool is_reduction(std::string_view word);

// "RING", "1" -> "ring"; "TREE", "0" -> "double_binary_tree"; others in small letters.
std::string algorithm_of_nccl(std::string_view name);
// "SIMPLE", "2" -> "simple"; "LL", "LL128".
std::string protocol_of_nccl(std::string_view name);

}  // namespace gradhaul
