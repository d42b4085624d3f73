#include "scenarios/workload_reader.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "core/workload_names.h"

namespace gradhaul {
namespace {

using TreeKind = TreeNode::Kind;

constexpr std::int64_t kLargestSize = std::int64_t{1} << 50;  // 1 PiB
constexpr std::size_t kMostSizes = 1000;

ChoiceSpec datatypes(const Default& otherwise) {
  std::vector<std::string_view> names;
  for (const DataType type : kDataTypes) names.push_back(name_of(type));
  return {.otherwise = otherwise,
          .available = names,
          .unavailable = {"fp64", "fp8_e4m3", "fp8_e5m2", "fp8", "int64", "uint64", "uint32"}};
}

struct Size {
  Bytes bytes;
  Location location;
  std::string text;
};

// One size, from a scalar that stands somewhere below `size`.
std::optional<Bytes> parse_size(const TreeNode& node, Problems& problems) {
  if (node.kind != TreeKind::kScalar) {
    if (node.kind != TreeKind::kBroken)
      problems.add(node.location, "a size is one quantity, as 1GiB");
    return std::nullopt;
  }
  const auto parsed = parse_quantity(node.text, Dimension::kSize);
  if (!parsed.value) {
    problems.add(node.location, fmt::format("size: \"{}\" {}", node.text, parsed.error));
  } else if (*parsed.value < 1 || *parsed.value > kLargestSize) {
    problems.add(node.location,
                 fmt::format("size: {} is out of range; it is at least 1B and at most {}",
                             node.text, format_bytes({kLargestSize})));
  } else {
    return Bytes{*parsed.value};
  }
  return std::nullopt;
}

// {from: 8B, to: 8GiB, factor: 2}
std::vector<Size> read_size_range(MappingReader reader) {
  const NumberSpec bound{.least = 1, .most = kLargestSize};
  const Bytes from = reader.bytes("from", bound);
  const Bytes to = reader.bytes("to", bound);
  const double factor =
      reader.real("factor", {.otherwise = {"2"}, .least = 1, .above_least = true});
  reader.finish();
  std::vector<Size> sizes;
  if (!reader.good()) return sizes;
  if (from > to) {
    reader.report(
        "to", fmt::format("to: {} is less than from, {}", format_bytes(to), format_bytes(from)));
    return sizes;
  }
  for (Bytes size = from; size <= to;) {
    sizes.push_back({size, reader.location("from"), format_bytes(size)});
    if (sizes.size() > kMostSizes) {
      reader.report("factor",
                    fmt::format("factor: {} makes more than {} sizes", factor, kMostSizes));
      return {};
    }
    const auto next =
        static_cast<std::int64_t>(std::floor(static_cast<double>(size.count) * factor));
    size.count = std::max(next, size.count + 1);
  }
  return sizes;
}

std::vector<Size> read_sizes(MappingReader& reader) {
  const TreeNode* node = reader.raw("size");
  std::vector<Size> sizes;
  if (node == nullptr || node->kind == TreeKind::kBroken) return sizes;
  if (node->kind == TreeKind::kMapping) return read_size_range(reader.mapping("size"));
  if (node->kind == TreeKind::kSequence) {
    FilledValue& filled = reader.record("size", FilledValue::Kind::kList, "", node);
    for (const TreeNode& item : node->children) {
      filled.children.emplace_back().text = item.text;
      if (const auto size = parse_size(item, reader.problems())) {
        sizes.push_back({*size, item.location, item.text});
      }
    }
    if (node->children.empty()) reader.report("size", "size: the list is empty; it needs a size");
    if (node->children.size() > kMostSizes) {
      reader.report("size", fmt::format("size: the list has more than {} sizes", kMostSizes));
    }
    return sizes;
  }
  reader.record("size", FilledValue::Kind::kText, node->text, node);
  if (node->kind == TreeKind::kNull) {
    reader.report("size",
                  "\"size\" has no value; it is one quantity, a list of them, or "
                  "{from: 8B, to: 8GiB, factor: 2}");
  } else if (const auto size = parse_size(*node, reader.problems())) {
    sizes.push_back({*size, node->location, node->text});
  }
  return sizes;
}

// A model's gradient: every parameter once.
std::vector<Size> read_model(MappingReader reader, std::optional<DataType>& datatype,
                             std::string_view datatype_otherwise) {
  const std::int64_t parameters =
      reader.count("parameters", {.least = 1, .most = kLargestSize / 4});
  datatype =
      static_cast<DataType>(reader.choice("gradient_datatype", datatypes({datatype_otherwise})));
  reader.finish();
  if (!reader.good()) return {};
  const Bytes size{parameters * size_of(*datatype).count};
  return {{size, reader.location("parameters"), format_bytes(size)}};
}

// "Size is rounded down to whole elements, with a note; no element at all is an error."
void round_sizes(const std::vector<Size>& sizes, Workload& workload, Problems& problems,
                 std::vector<std::string>& notes) {
  const Bytes element = size_of(workload.datatype);
  const std::string_view type = name_of(workload.datatype);
  for (const Size& size : sizes) {
    const Bytes whole{size.bytes.count / element.count * element.count};
    if (whole.count == 0) {
      problems.add(size.location, fmt::format("size: {} is less than one element; one of {} has {}",
                                              size.text, type, format_bytes(element)));
      continue;
    }
    if (whole != size.bytes) {
      notes.push_back(fmt::format("size {} is rounded down to {} bytes, {} whole elements of {}",
                                  size.text, whole.count, whole.count / element.count, type));
    }
    workload.sizes.push_back(whole);
  }
}

// What both `size` and `model` say, or neither.
void check_alternatives(MappingReader& reader) {
  if (reader.broken()) return;
  if (reader.has("size") && reader.has("model")) {
    reader.report("model", R"("size" and "model" both say how large the message is; keep one)");
  } else if (!reader.has("size") && !reader.has("model")) {
    reader.report("size",
                  "\"size\" or \"model\" is missing: how large is the message? As size: 1GiB, or "
                  "model: {parameters: 7e9, gradient_datatype: bf16}");
  }
}

}  // namespace

Workload read_workload(MappingReader& reader, std::vector<std::string>& notes) {
  Workload workload;
  constexpr std::array kCollectives{Collective::kAllReduce, Collective::kReduceScatter,
                                    Collective::kAllGather, Collective::kBroadcast,
                                    Collective::kAllToAll,  Collective::kSendRecv};
  std::vector<std::string_view> names;
  for (const Collective collective : kCollectives) names.push_back(name_of(collective));
  workload.collective = kCollectives[reader.choice(
      "collective", {.otherwise = {"all_reduce"}, .available = names, .unavailable = {"reduce"}})];
  check_alternatives(reader);
  const TreeNode* given = reader.node() == nullptr ? nullptr : reader.node()->find("datatype");
  const bool scalar = given != nullptr && given->kind == TreeKind::kScalar;
  std::optional<DataType> gradient;
  std::vector<Size> sizes;
  if (reader.has("model")) {
    // A gradient is bf16 unless somebody says otherwise.
    const std::string otherwise = scalar ? given->text : "bf16";
    sizes = read_model(reader.mapping("model"), gradient, otherwise);
  }
  reader.raw("model");
  if (auto read = read_sizes(reader); !read.empty()) sizes = std::move(read);
  const std::string_view datatype_otherwise = gradient ? name_of(*gradient) : "fp32";
  workload.datatype =
      static_cast<DataType>(reader.choice("datatype", datatypes({datatype_otherwise})));
  if (gradient && *gradient != workload.datatype && reader.good()) {
    reader.report("datatype", fmt::format("datatype: {} is not the gradient's, {}; with a model, "
                                          "gradient_datatype says it",
                                          name_of(workload.datatype), datatype_otherwise));
  }
  workload.reduction = static_cast<Reduction>(reader.choice(
      "reduction",
      {.otherwise = {"sum"}, .available = {"sum", "avg", "max", "min"}, .unavailable = {"prod"}}));
  reader.empty_only("training_step", FilledValue::Kind::kMapping);
  round_sizes(sizes, workload, reader.problems(), notes);
  reader.finish();
  return workload;
}

}  // namespace gradhaul
