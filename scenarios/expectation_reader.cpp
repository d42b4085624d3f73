#include "scenarios/expectation_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "scenarios/did_you_mean.h"

namespace gradhaul {
namespace {

// Longer signs first: "<=" begins with "<".
constexpr std::array<std::string_view, 6> kSigns{"<=", ">=", "==", "<", ">", "="};

void read_comparison(MappingReader& reader, std::string_view key, Dimension dimension,
                     std::vector<ExpectedValue>& expected) {
  if (!reader.has(key)) {
    reader.raw(key);
    return;
  }
  const std::string text = reader.text(key, {});
  if (!reader.has_scalar(key)) return;
  const std::string example = key == "time" ? "\"<=70ms\"" : "\">=340GB/s\"";
  std::string_view rest = text;
  std::string sign;
  for (const std::string_view known : kSigns) {
    if (rest.starts_with(known)) {
      sign = known;
      rest.remove_prefix(known.size());
      break;
    }
  }
  if (sign.empty()) {
    reader.report(key,
                  fmt::format("{}: \"{}\" does not say how to compare; as {}", key, text, example));
    return;
  }
  const auto value = parse_quantity(rest, dimension);
  if (!value.value) {
    reader.report(key, fmt::format("{}: \"{}\" {}", key, rest, value.error));
  } else if (*value.value < 0) {
    reader.report(key, fmt::format("{}: {} is less than nothing", key, rest));
  } else {
    const double scale = dimension == Dimension::kTime ? 1e-12 : 1.0 / 8;
    expected.push_back({std::string(key), sign == "=" ? "==" : sign,
                        static_cast<double>(*value.value) * scale, ""});
  }
}

// The kinds of resources and the other things that can limit a run, as results name them.
const std::vector<std::string>& limiting_kinds() {
  static const std::vector<std::string> kinds{
      "nic",    "pcie",    "pcie_uplink", "socket", "socket_link",    "nvlink",  "reduce",
      "memory", "network", "thread",      "iommu",  "ordered_writes", "latency", "slots"};
  return kinds;
}

// "node0.nic0", "node3.gpu1.pcie", "leaf0", "leaf0-spine1"
bool is_resource_name(std::string_view name) {
  for (const std::string_view head : {"node", "leaf", "spine"}) {
    if (name.starts_with(head) && name.size() > head.size() &&
        std::isdigit(static_cast<unsigned char>(name[head.size()])) != 0) {
      return true;
    }
  }
  return false;
}

void read_limited_by(MappingReader& reader, std::vector<ExpectedValue>& expected) {
  if (!reader.has("limited_by")) {
    reader.raw("limited_by");
    return;
  }
  const std::string name = reader.text("limited_by", {});
  if (!reader.has_scalar("limited_by")) return;
  const auto& kinds = limiting_kinds();
  const bool kind = std::find(kinds.begin(), kinds.end(), name) != kinds.end();
  if (!kind && !is_resource_name(name)) {
    reader.report(
        "limited_by",
        fmt::format("limited_by: \"{}\" is no resource{}; it is a kind ({}) or a name, as "
                    "node0.nic0",
                    name, did_you_mean(name, kinds), join_or(kinds)));
    return;
  }
  expected.push_back({"limited_by", "==", 0, name});
}

}  // namespace

std::vector<ExpectedValue> read_expectations(MappingReader& reader) {
  std::vector<ExpectedValue> expected;
  read_comparison(reader, "time", Dimension::kTime, expected);
  read_comparison(reader, "algbw", Dimension::kRate, expected);
  read_comparison(reader, "busbw", Dimension::kRate, expected);
  read_limited_by(reader, expected);
  reader.finish();
  return expected;
}

}  // namespace gradhaul
