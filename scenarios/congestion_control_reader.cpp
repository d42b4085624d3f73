#include "scenarios/congestion_control_reader.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace gradhaul {
namespace {

using namespace literals;

constexpr std::int64_t kLongestInterval = 1'000'000'000'000;  // 1 s
constexpr std::string_view kFirmware = "ConnectX firmware's default (mlxconfig)";
constexpr std::string_view kScaled = "100 kB and 400 kB at 25 Gb/s, scaled (HPCC's experiments)";

// Where queues are marked grows with the rate of a port.
std::int64_t scaled(const Network& network, std::int64_t bytes_at_25_gigabits) {
  return static_cast<std::int64_t>(Int128{bytes_at_25_gigabits} * network.link.bits_per_second /
                                   (25_Gbps).bits_per_second);
}

void read_marking(MappingReader& reader, const Network& network, CongestionControl& control) {
  const auto mark = [&](std::string_view key, std::int64_t at_25_gigabits) {
    return reader.bytes(key, {.otherwise = {"auto", true, kScaled},
                              .least = 0,
                              .words = {{"auto", scaled(network, at_25_gigabits)}}});
  };
  control.kmin = mark("kmin", 100'000);
  control.kmax = mark("kmax", 400'000);
  control.pmax = reader.real("pmax", {.otherwise = {"0.2", true, kScaled}, .least = 0, .most = 1});
  if (control.kmin <= control.kmax) return;
  reader.report(
      "kmin", fmt::format("kmin: {}B is above kmax, {}B", control.kmin.count, control.kmax.count));
}

void read_dcqcn(MappingReader& reader, const Network& network, CongestionControl& control) {
  read_marking(reader, network, control);
  const auto interval = [&](std::string_view key, std::string_view otherwise) {
    return reader.time(
        key, {.otherwise = {otherwise, false, kFirmware}, .least = 1, .most = kLongestInterval});
  };
  const auto rate = [&](std::string_view key, std::string_view otherwise,
                        std::vector<Word> words = {}) {
    return reader.rate(key, {.otherwise = {otherwise, false, kFirmware},
                             .least = 1,
                             .most = (100'000_Gbps).bits_per_second,
                             .words = std::move(words)});
  };
  const auto share = [&](std::string_view key, std::string_view otherwise) {
    return reader.real(key, {.otherwise = {otherwise, false, kFirmware}, .least = 0, .most = 1});
  };
  control.notification_interval = interval("cnp_interval", "4us");
  control.gain = share("g", "0.0048828125");
  control.initial_alpha = share("initial_alpha", "0.9990234375");
  control.alpha_timer = interval("alpha_timer", "1us");
  control.decrease_interval = interval("decrease_interval", "4us");
  control.increase_timer = interval("increase_timer", "300us");
  control.increase_bytes =
      reader.bytes("increase_bytes", {.otherwise = {"off"}, .least = 1, .words = {{"off", 0}}});
  control.fast_recovery = static_cast<int>(reader.count(
      "fast_recovery", {.otherwise = {"1", false, kFirmware}, .least = 1, .most = 100}));
  control.additive_increase = rate("additive_increase", "5Mb/s");
  control.hyper_increase = rate("hyper_increase", "50Mb/s");
  control.least_rate = rate("least_rate", "1Mb/s");
  // CLAMP_TGT_RATE, RPG_MIN_DEC_FAC and RATE_TO_SET_ON_FIRST_CNP of mlxconfig.
  control.clamp_target = reader.truth("clamp_target", {"false", false, kFirmware});
  control.min_decrease_factor = share("min_decrease_factor", "0.5");
  control.first_cnp_rate = rate("first_cnp_rate", "off", {{"off", 0}});
}

}  // namespace

void read_congestion_control(MappingReader& reader, Network& network) {
  const TreeNode* given =
      reader.node() == nullptr ? nullptr : reader.node()->find("congestion_control");
  const bool none =
      given == nullptr || (given->kind == TreeNode::Kind::kScalar && given->text == "none");
  if (none) {
    reader.fixed("congestion_control", "none", {"dcqcn", "hpcc", "timely", "swift"});
    return;
  }
  MappingReader settings = reader.mapping_of_kind("congestion_control");
  CongestionControl& control = network.congestion;
  control.dcqcn = settings.choice("kind", {.otherwise = {},
                                           .available = {"none", "dcqcn"},
                                           .unavailable = {"hpcc", "timely", "swift"}}) == 1;
  if (control.dcqcn) read_dcqcn(settings, network, control);
  settings.finish();
}

}  // namespace gradhaul
