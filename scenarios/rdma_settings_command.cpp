#include "scenarios/rdma_settings_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "scenarios/config_error.h"
#include "scenarios/did_you_mean.h"
#include "scenarios/quantity.h"

namespace gradhaul {
namespace {

// Reads one value; returns what is wrong with it, or nothing.
using Reader = std::function<std::string(VerbsSettings&, const std::string&)>;

Reader whole_number(int VerbsSettings::*member, std::int64_t least, std::int64_t most) {
  return [=](VerbsSettings& settings, const std::string& text) -> std::string {
    const Parsed<std::int64_t> parsed = parse_count(text);
    if (!parsed.value) return fmt::format("\"{}\" {}", text, parsed.error);
    if (*parsed.value < least || *parsed.value > most) {
      return fmt::format("{} is not from {} to {}", text, least, most);
    }
    settings.*member = static_cast<int>(*parsed.value);
    return "";
  };
}

Reader truth(bool VerbsSettings::*member, const std::string& yes, const std::string& no) {
  return [=](VerbsSettings& settings, const std::string& text) -> std::string {
    if (text != yes && text != no) return fmt::format("it is {} or {}", yes, no);
    settings.*member = text == yes;
    return "";
  };
}

std::string read_mtu(VerbsSettings& settings, const std::string& text) {
  const Parsed<std::int64_t> parsed = parse_quantity(text, Dimension::kSize);
  if (!parsed.value) return fmt::format("\"{}\" {}", text, parsed.error);
  for (const std::int64_t mtu : {256, 512, 1024, 2048, 4096}) {
    if (*parsed.value != mtu) continue;
    settings.mtu = {mtu};
    return "";
  }
  return "an RDMA path MTU is 256B, 512B, 1024B, 2048B or 4096B";
}

std::string read_deadline(VerbsSettings& settings, const std::string& text) {
  const Parsed<std::int64_t> parsed = parse_quantity(text, Dimension::kTime);
  if (!parsed.value) return fmt::format("\"{}\" {}", text, parsed.error);
  constexpr std::int64_t kPicosecondsInMillisecond = 1'000'000'000;
  settings.deadline = std::chrono::milliseconds(*parsed.value / kPicosecondsInMillisecond);
  return settings.deadline.count() < 1 ? "it is at least 1ms" : "";
}

std::string read_completion(VerbsSettings& settings, const std::string& text) {
  if (text != "polling" && text != "events" && text != "adaptive") {
    return "it is polling, events or adaptive";
  }
  settings.completion = text == "polling"  ? CompletionMode::kPolling
                        : text == "events" ? CompletionMode::kEvents
                                           : CompletionMode::kAdaptive;
  return "";
}

std::string read_flush(VerbsSettings& settings, const std::string& text) {
  if (text != "auto" && text != "on" && text != "off") return "it is auto, on or off";
  settings.flush = text == "auto" ? FlushMode::kAuto
                   : text == "on" ? FlushMode::kOn
                                  : FlushMode::kOff;
  return "";
}

std::string read_devices(VerbsSettings& settings, const std::string& text) {
  settings.devices = text;
  return "";
}

struct RdmaSetting {
  std::string name;
  std::string help;
  Reader read;
};

const std::vector<RdmaSetting>& rdma_settings_table() {
  using S = VerbsSettings;
  static const std::vector<RdmaSetting> table{
      {"devices",
       "names as NCCL_IB_HCA has them: mlx5_0:1,mlx5_1 or ^mlx5_2 or =mlx5_0; {rank} is "
       "this rank",
       read_devices},
      {"gid_index", "entry of the GID table", whole_number(&S::gid_index, 0, 255)},
      {"pkey_index", "entry of the partition keys", whole_number(&S::pkey_index, 0, 65535)},
      {"service_level", "0 to 15", whole_number(&S::service_level, 0, 15)},
      {"traffic_class", "0 to 255; RoCE: DSCP * 4", whole_number(&S::traffic_class, 0, 255)},
      {"mtu", "at most this path MTU", read_mtu},
      {"timeout", "4.096 us * 2^timeout until a packet is sent again",
       whole_number(&S::timeout, 1, 31)},
      {"retry", "so often", whole_number(&S::retry, 0, 7)},
      {"rnr_retry", "where no receive is posted; 7: for ever", whole_number(&S::rnr_retry, 0, 7)},
      {"rnr_timer", "code of the pause before that", whole_number(&S::rnr_timer, 0, 31)},
      {"split", "each write over all queue pairs: yes or no", truth(&S::split_writes, "yes", "no")},
      {"immediate",
       "with_data, or apart: by an empty write behind a plain one of the data, so that adaptive "
       "routing may reorder that",
       truth(&S::immediate_apart, "apart", "with_data")},
      {"inline_bytes", "writes up to this go with their work request",
       whole_number(&S::inline_bytes, 0, 4096)},
      {"signal_interval", "each so-manyth of a chain is signalled",
       whole_number(&S::signal_interval, 1, 1024)},
      {"in_flight", "writes of a connection", whole_number(&S::max_writes_in_flight, 1, 4096)},
      {"relaxed_ordering", "of PCIe: yes or no", truth(&S::relaxed_ordering, "yes", "no")},
      {"completion", "polling, events or adaptive", read_completion},
      {"flush",
       "auto, on or off: the NIC reads back what has arrived, before it is told (auto: in memory "
       "of GPUs before Hopper)",
       read_flush},
      {"pin_thread", "on processors near the NIC: yes or no", truth(&S::pin_thread, "yes", "no")},
      {"deadline", "of one write, its retries included", read_deadline},
  };
  return table;
}

std::string read_setting(VerbsSettings& settings, const std::string& given) {
  const std::size_t equals = given.find('=');
  if (equals == std::string::npos) return "it is NAME=VALUE, as gid_index=3";
  const std::string name = given.substr(0, equals);
  const auto& table = rdma_settings_table();
  const auto found = std::ranges::find(table, name, &RdmaSetting::name);
  if (found != table.end()) return found->read(settings, given.substr(equals + 1));
  std::vector<std::string> names;
  for (const RdmaSetting& setting : table) names.push_back(setting.name);
  return fmt::format("there is no such setting{}; there are {}", did_you_mean(name, names),
                     fmt::join(names, ", "));
}

}  // namespace

VerbsSettings usual_settings(const Communication& communication) {
  VerbsSettings settings;
  settings.split_writes = communication.splits_over_queue_pairs;
  settings.timeout = communication.timeout;
  settings.retry = communication.retry;
  settings.rnr_timer = communication.rnr_timer;
  settings.rnr_retry = communication.rnr_retry;
  settings.traffic_class = communication.traffic_class.value_or(settings.traffic_class);
  return settings;
}

VerbsSettings rdma_settings(const std::vector<std::string>& given, int rank,
                            VerbsSettings settings) {
  Problems problems;
  for (const std::string& text : given) {
    const std::string wrong = read_setting(settings, text);
    if (!wrong.empty()) problems.add({.source = "--rdma " + text}, wrong);
  }
  if (!problems.empty()) throw ConfigError(problems.sorted());
  const std::string place = "{rank}";
  for (std::size_t at = 0; (at = settings.devices.find(place)) != std::string::npos;) {
    settings.devices.replace(at, place.size(), std::to_string(rank));
  }
  return settings;
}

std::vector<std::pair<std::string, std::string>> rdma_setting_names() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const RdmaSetting& setting : rdma_settings_table()) {
    names.emplace_back(setting.name, setting.help);
  }
  return names;
}

}  // namespace gradhaul
