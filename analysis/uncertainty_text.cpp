#include "analysis/uncertainty_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/quantity_text.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

// As the report's other lists have; the result file has all.
constexpr std::size_t kMostLines = 10;

constexpr std::array<std::pair<std::string_view, std::string_view>, 31> kWords{{
    {"workload.training_step.efficiency", "share of the GPUs' peak that compute reaches"},
    {"cluster.node.gpus.model.reduce_bandwidth", "throughput of a reduce kernel"},
    {"cluster.node.gpus.model.read_latency", "read latency of GPU memory"},
    {"cluster.node.gpus.model.write_latency", "write latency of GPU memory"},
    {"cluster.node.gpus.model.kernel_launch", "launch of a kernel"},
    {"cluster.node.gpus.model.flag_latency", "flags between host and kernel"},
    {"cluster.node.nics.model.post", "posting to a NIC"},
    {"cluster.node.nics.model.doorbell", "doorbell of a NIC"},
    {"cluster.node.nics.model.wqe_fetch", "a NIC's fetching of work requests"},
    {"cluster.node.nics.model.transmit_latency", "a packet's way out of a NIC"},
    {"cluster.node.nics.model.receive_latency", "a packet's way into a NIC"},
    {"cluster.node.nics.model.completion", "completions of a NIC"},
    {"cluster.node.nics.model.transmit_buffer", "transmit buffer of a NIC"},
    {"cluster.node.nvlink.latency", "latency of NVLink"},
    {"cluster.node.socket_link.bandwidth", "bandwidth between sockets"},
    {"cluster.node.socket_link.latency", "latency between sockets"},
    {"cluster.node.root_complex.latency", "latency of the root complex"},
    {"cluster.node.root_complex.peer_to_peer_read", "peer-to-peer reads through a socket"},
    {"cluster.node.root_complex.peer_to_peer_write", "peer-to-peer writes through a socket"},
    {"cluster.node.root_complex.peer_to_peer_across_sockets", "peer-to-peer across sockets"},
    {"cluster.node.host_memory.bandwidth", "bandwidth of host memory"},
    {"cluster.node.pcie_settings.tags", "PCIe reads in flight (tags)"},
    {"cluster.node.pcie_settings.posted_header_credits", "PCIe credits, headers"},
    {"cluster.node.pcie_settings.posted_data_credits", "PCIe credits, data"},
    {"cluster.node.pcie_settings.credit_loop", "way of a PCIe credit"},
    {"cluster.node.pcie_settings.dllp_overhead", "overhead of PCIe's link layer"},
    {"cluster.network.switch.latency", "latency of a network switch"},
    {"cluster.network.switch.vl_buffer", "buffer of a network port"},
    {"cluster.network.switch.buffer", "buffer of a network switch"},
    {"cluster.network.credit_return", "way of a network credit"},
    {"communication.timeout", "how long a NIC waits for an ACK"},
}};

// "+2.10 ms", "-850 ns"; "0" where there is no difference.
std::string signed_text(Duration difference) {
  if (difference.ps == 0) return "0";
  const bool less = difference.ps < 0;
  return (less ? "-" : "+") + duration_text({less ? -difference.ps : difference.ps});
}

std::string effect_range(const EstimateEffect& effect, Duration time) {
  return fmt::format("{} to {}", signed_text(effect.least(time) - time),
                     signed_text(effect.most(time) - time));
}

// "70.1 ms, 68.4 ms to 74.9 ms", or "168 ms (-2.13 us to +1.62 us)" where both ends read as it
// does.
std::string range_text(Duration time, const Uncertainty& uncertainty) {
  const std::string text = duration_text(time);
  const std::string low = duration_text(uncertainty.low);
  const std::string high = duration_text(uncertainty.high);
  if (low != text || high != text) return fmt::format("{}, {} to {}", text, low, high);
  return fmt::format("{} ({} to {})", text, signed_text(uncertainty.low - time),
                     signed_text(uncertainty.high - time));
}

// "70.1 ms, 68.4 ms to 74.9 ms; most: read latency of GPU memory (-850 us to +2.10 ms)"
std::string summary_text(Duration time, const Uncertainty& uncertainty) {
  if (uncertainty.effects.empty()) return duration_text(time) + "; no estimate moves it";
  const EstimateEffect& most = uncertainty.effects.front();
  return fmt::format("{}; most: {} ({})", range_text(time, uncertainty),
                     estimate_in_words(most.key), effect_range(most, time));
}

std::string effect_line(const EstimateEffect& effect, Duration time) {
  return fmt::format("#   {:>22}  {}: {} ({} to {}{})\n", effect_range(effect, time),
                     estimate_in_words(effect.key), effect.value, effect.low, effect.high,
                     effect.assumed ? ", for want of a range" : "");
}

std::string how_text(const Uncertainty& uncertainty) {
  const int all = uncertainty.tried + uncertainty.left;
  if (all == 0) return "#   Nothing that it rests on is marked as an estimate.\n";
  std::string text = fmt::format(
      "#   {} at its least and at its greatest, the others as they are;\n"
      "#   together as the root of the sum of squares.",
      all == 1 ? "The one estimate" : fmt::format("Each of {} estimates", all));
  if (uncertainty.left > 0) {
    text += fmt::format(" Interrupted: {} of them are left out.", uncertainty.left);
  }
  return text + "\n";
}

std::string effects_text(Duration time, const Uncertainty& uncertainty) {
  std::string text;
  const std::vector<EstimateEffect>& effects = uncertainty.effects;
  for (std::size_t i = 0; i < std::min(effects.size(), kMostLines); ++i) {
    text += effect_line(effects[i], time);
  }
  if (effects.size() > kMostLines) {
    text += fmt::format("#   … and {} more\n", effects.size() - kMostLines);
  }
  return text;
}

std::string name_of_row(const ResultRow& row) {
  return row.job.empty() ? bytes_text(row.size) : row.job;
}

}  // namespace

std::string estimate_in_words(const std::string& key) {
  const auto found = std::find_if(kWords.begin(), kWords.end(),
                                  [&key](const auto& words) { return words.first == key; });
  return found == kWords.end() ? key : std::string(found->second);
}

std::string uncertainty_text(const Prediction& prediction) {
  if (prediction.rows.empty() || !prediction.rows.back().uncertainty) return "";
  const ResultRow& last = prediction.rows.back();
  std::string text;
  if (prediction.rows.size() == 1) {
    text = fmt::format("# Uncertainty: {}\n", summary_text(last.time, *last.uncertainty));
  } else {
    text = "# Uncertainty:\n";
    for (const ResultRow& row : prediction.rows) {
      text += fmt::format("#   {:>8}: {}\n", name_of_row(row),
                          summary_text(row.time, *row.uncertainty));
    }
  }
  text += how_text(*last.uncertainty);
  if (prediction.rows.size() > 1 && !last.uncertainty->effects.empty()) {
    text += fmt::format("#   Of {}:\n", name_of_row(last));
  }
  return text + effects_text(last.time, *last.uncertainty);
}

std::string step_uncertainty_text(Duration step, const Uncertainty& uncertainty) {
  return fmt::format("# Uncertainty of the step: {}\n", summary_text(step, uncertainty)) +
         how_text(uncertainty) + effects_text(step, uncertainty);
}

Json uncertainty_json(const Uncertainty& uncertainty) {
  Json effects = Json::array();
  for (const EstimateEffect& effect : uncertainty.effects) {
    effects.push_back({{"key", effect.key},
                       {"value", effect.value},
                       {"low", effect.low},
                       {"high", effect.high},
                       {"assumed", effect.assumed},
                       {"time_at_low_us", microseconds(effect.at_low)},
                       {"time_at_high_us", microseconds(effect.at_high)}});
  }
  return {{"low_us", microseconds(uncertainty.low)},
          {"high_us", microseconds(uncertainty.high)},
          {"combined", "root_sum_square"},
          {"tried", uncertainty.tried},
          {"left_out", uncertainty.left},
          {"estimates", std::move(effects)}};
}

}  // namespace gradhaul
