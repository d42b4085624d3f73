#include "scenarios/device_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "core/quantities.h"
#include "scenarios/nic_limits_reader.h"

namespace gradhaul {
namespace {

using namespace literals;

constexpr std::int64_t kUnlimitedRate = kUnlimited.bits_per_second;
constexpr std::int64_t kLongestTime = 1'000'000'000'000;  // 1 s; no device is slower

NumberSpec rate_or_unlimited(const Default& otherwise) {
  return {.otherwise = otherwise,
          .least = 1'000'000,
          .most = (100'000_GBps).bits_per_second,
          .words = {{"unlimited", kUnlimitedRate}}};
}

NumberSpec latency(const Default& otherwise = {"0ns"}) {
  return {.otherwise = otherwise, .least = 0, .most = kLongestTime};
}

NumberSpec buffer() {
  return {.otherwise = {"unlimited"}, .least = 64, .most = 1LL << 40, .words = {{"unlimited", 0}}};
}

// How a device hangs on PCIe.
std::optional<PcieLink> read_device_link(MappingReader& reader) {
  const std::string text = reader.text("pcie", {"none"});
  if (reader.has("pcie") && !reader.has_scalar("pcie")) return std::nullopt;
  if (text == "none") return std::nullopt;
  const auto link = parse_pcie_link(text);
  if (link) return link;
  reader.report("pcie", fmt::format("pcie: \"{}\" is no PCIe link; it is {}, or none", text,
                                    describe_pcie_link()));
  return PcieLink{};
}

// What only a training step asks for.
void read_compute(MappingReader& reader, GpuModel& gpu) {
  gpu.tensor_flops =
      reader.count("tensor_flops", {.otherwise = {"unknown"},
                                    .least = 1'000'000'000,
                                    .most = 1'000'000'000'000'000'000,
                                    .words = {{"unknown", 0}, {"unlimited", kUnlimitedFlops}}});
  gpu.multiprocessors = static_cast<int>(reader.count(
      "multiprocessors",
      {.otherwise = {"unknown"}, .least = 1, .most = 10'000, .words = {{"unknown", 0}}}));
  gpu.memory = reader.bytes(
      "memory",
      {.otherwise = {"unknown"}, .least = 1'000'000, .most = 1LL << 50, .words = {{"unknown", 0}}});
}

// 9.0 is 90; 0 where it is not known.
int read_compute_capability(MappingReader& reader) {
  const std::string text = reader.text("compute_capability", {"unknown"});
  if (reader.has("compute_capability") && !reader.has_scalar("compute_capability")) return 0;
  if (text == "unknown") return 0;
  const std::size_t dot = text.find('.');
  int major = 0;
  int minor = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  const bool whole = dot != std::string::npos && first.ptr == text.data() + dot;
  const auto second = whole ? std::from_chars(first.ptr + 1, end, minor) : first;
  if (whole && second.ec == std::errc{} && second.ptr == end && major >= 3 && major <= 20 &&
      minor >= 0 && minor <= 9) {
    return 10 * major + minor;
  }
  reader.report("compute_capability",
                fmt::format("compute_capability: \"{}\" is none; it is MAJOR.MINOR as NVIDIA "
                            "lists it, as 9.0 for H100, or unknown",
                            text));
  return 0;
}

// What becomes of packets that are lost or late.
void read_recovery(MappingReader& reader, NicModel& nic) {
  constexpr std::string_view kPlaces =
      "ConnectX-5 and later place writes as adaptive routing has "
      "them come";
  const bool nak = reader.choice("out_of_order", {.otherwise = {"place", false, kPlaces},
                                                  .available = {"place", "nak"}}) == 1;
  nic.out_of_order = nak ? OutOfOrder::kNak : OutOfOrder::kPlace;
  const bool repeats =
      reader.choice("retransmission", {.otherwise = {"go_back_n", false, "IBTA vol. 1, 9.7.5"},
                                       .available = {"go_back_n", "selective_repeat"}}) == 1;
  nic.retransmission = repeats ? Retransmission::kSelectiveRepeat : Retransmission::kGoBackN;
}

// Whether the device is of the kind that is meant.
bool read_kind(MappingReader& reader, std::string_view name, std::string_view kind) {
  const std::size_t before = reader.problems().size();
  const bool gpu = reader.choice("kind", {.otherwise = {kind}, .available = {"gpu", "nic"}}) == 0;
  if (reader.problems().size() > before || gpu == (kind == "gpu")) return true;
  const TreeNode& node = *reader.node();
  reader.problems().add(
      node.reference.empty() ? reader.location("kind") : node.reference_location,
      fmt::format("{} is a {}, and a {} is meant", name, gpu ? "gpu" : "nic", kind));
  return false;
}

}  // namespace

std::optional<PcieLink> parse_pcie_link(std::string_view text) {
  if (!text.starts_with("gen")) return std::nullopt;
  PcieLink link;
  const char* end = text.data() + text.size();
  const auto generation = std::from_chars(text.data() + 3, end, link.generation);
  if (generation.ec != std::errc{} || generation.ptr == end || *generation.ptr != 'x') {
    return std::nullopt;
  }
  const auto lanes = std::from_chars(generation.ptr + 1, end, link.lanes);
  if (lanes.ec != std::errc{} || lanes.ptr != end) return std::nullopt;
  const bool whole_lanes =
      link.lanes == 1 || link.lanes == 2 || link.lanes == 4 || link.lanes == 8 || link.lanes == 16;
  if (link.generation < 1 || link.generation > 6 || !whole_lanes) return std::nullopt;
  return link;
}

std::string format_pcie_link(const PcieLink& link) {
  return fmt::format("gen{}x{}", link.generation, link.lanes);
}

std::string_view describe_pcie_link() {
  return "genNxL with a generation of 1 to 6 and 1, 2, 4, 8 or 16 lanes, as gen5x16";
}

std::string read_name(MappingReader& reader) {
  std::string found = "custom";
  if (reader.node() != nullptr && !reader.node()->reference.empty()) {
    found = std::filesystem::path(reader.node()->reference).stem().string();
  }
  return reader.text("name", {found});
}

std::optional<GpuModel> read_gpu_model(MappingReader& reader) {
  if (reader.broken()) return std::nullopt;
  GpuModel gpu;
  gpu.name = read_name(reader);
  if (!read_kind(reader, gpu.name, "gpu")) return std::nullopt;
  gpu.compute_capability = read_compute_capability(reader);
  gpu.pcie = read_device_link(reader);
  gpu.memory_bandwidth = reader.rate("memory_bandwidth", rate_or_unlimited({"unlimited"}));
  gpu.reduce_bandwidth = reader.rate("reduce_bandwidth", rate_or_unlimited({"unlimited"}));
  gpu.read_latency = reader.time("read_latency", latency());
  gpu.write_latency = reader.time("write_latency", latency());
  gpu.kernel_launch = reader.time("kernel_launch", latency());
  gpu.flag_latency = reader.time("flag_latency", latency());
  gpu.copy_setup = reader.time("copy_setup", latency());
  read_compute(reader, gpu);
  reader.finish();
  return gpu;
}

std::optional<NicModel> read_nic_model(MappingReader& reader) {
  if (reader.broken()) return std::nullopt;
  NicModel nic;
  nic.name = read_name(reader);
  if (!read_kind(reader, nic.name, "nic")) return std::nullopt;
  nic.rate = reader.rate("rate", rate_or_unlimited({"unlimited"}));
  nic.pcie = read_device_link(reader);
  nic.post = reader.time("post", latency());
  nic.doorbell = reader.time("doorbell", latency());
  nic.wqe_fetch = reader.time("wqe_fetch", latency());
  nic.transmit_latency = reader.time("transmit_latency", latency());
  nic.receive_latency = reader.time("receive_latency", latency());
  nic.completion = reader.time("completion", latency());
  nic.transmit_buffer = reader.bytes("transmit_buffer", buffer());
  nic.receive_buffer = reader.bytes("receive_buffer", buffer());
  nic.message_rate = reader.count("message_rate", {.otherwise = {"unlimited"},
                                                   .least = 1,
                                                   .most = 1'000'000'000'000,
                                                   .words = {{"unlimited", 0}}});
  read_nic_limits(reader, nic);
  read_recovery(reader, nic);
  reader.finish();
  return nic;
}

}  // namespace gradhaul
