#include "scenarios/calibrate_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

#include "analysis/calibration_report.h"
#include "analysis/quantity_text.h"
#include "analysis/write_file_whole.h"
#include "scenarios/calibrated_device.h"
#include "scenarios/exit_status.h"
#include "scenarios/guarded_command.h"
#include "scenarios/measure_backends_command.h"
#include "scenarios/measure_plan.h"
#include "scenarios/quantity.h"
#include "sim/idle_connection.h"
#include "sim/pair_write.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kLargestMessage = std::int64_t{1} << 30;

std::vector<Bytes> sizes_of(const std::vector<std::string>& texts) {
  std::vector<Bytes> sizes;
  for (const std::string& text : texts) {
    const Parsed<std::int64_t> parsed = parse_quantity(text, Dimension::kSize);
    if (!parsed.value) refuse("--sizes", fmt::format("\"{}\" {}", text, parsed.error));
    if (*parsed.value < 8 || *parsed.value > kLargestMessage) {
      refuse("--sizes", fmt::format("{} is not from 8B to 1GiB", text));
    }
    sizes.push_back({*parsed.value});
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::string list_text(const std::vector<int>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

CalibrationSettings settings_of(const CalibrateOptions& options) {
  CalibrationSettings settings;
  settings.sizes = sizes_of(options.sizes);
  settings.queue_pairs = options.queue_pairs;
  // Of sockets and threads a connection has one.
  if (settings.queue_pairs.empty()) {
    settings.queue_pairs =
        options.measure.backend == "verbs" ? std::vector{1, 2, 4} : std::vector{1};
  }
  settings.depths = options.depths;
  settings.most_messages = options.messages;
  return settings;
}

// Of its scenario only the ranks count.
MeasurePlan plan_of_ranks(const CalibrateOptions& options, const CalibrationSettings& settings,
                          const CommandContext& context) {
  MeasureOptions measure = options.measure;
  measure.scenario = "ideal-ring";
  measure.settings = {"cluster.nodes=2", "workload.size=8B"};
  MeasurePlan plan = plan_of(measure, context);
  std::string sizes;
  for (const Bytes size : settings.sizes) sizes += format_bytes(size) + " ";
  plan.agreed.insert(plan.agreed.end(), {{"--sizes", sizes},
                                         {"--queue-pairs", list_text(settings.queue_pairs)},
                                         {"--depths", list_text(settings.depths)},
                                         {"--messages", fmt::to_string(settings.most_messages)}});
  plan.calibration = settings;
  return plan;
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc);
  return text.data();
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unnamed host";
}

// As calibrated_scenario_text() has it.
Cluster cluster_of(const CalibratedDevice& nic, const CalibratedDevice& gpu) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.node.nic = nic_model_of(nic);
  cluster.node.gpu = gpu_model_of(gpu);
  cluster.node.root_complex.latency = cluster.node.host_memory_latency = {};
  cluster.node.socket_link.latency = {};
  cluster.network.kind = NetworkKind::kIdeal;
  cluster.network.link = cluster.node.nic.rate;
  cluster.network.node_cable_metres = cluster.network.spine_cable_metres = 0;
  cluster.network.switch_latency = cluster.network.credit_return = {};
  cluster.network.vl_buffer = {};
  return cluster;
}

// What the model makes of single writes and of streams, told the values; of other samples nothing.
std::vector<std::optional<Duration>> modelled(const Calibration& found, const Cluster& cluster) {
  constexpr std::int64_t kStream = 64;
  const Fabric fabric(cluster);
  PairWrite pair;
  pair.hop = {.source = 0, .destination = 1, .source_nic = 0, .destination_nic = 0};
  pair.host_memory = true;
  std::vector<std::optional<Duration>> times;
  for (const CalibrationSample& sample : found.samples) {
    std::optional<Duration>& time = times.emplace_back();
    pair.slice = sample.size;
    if (sample.kind == CalibrationKind::kLatency) {
      Hop hop = pair.hop;
      hop.relay_gpu = -1;
      hop.staged_out = hop.staged_in = true;
      time = Duration{IdleConnection(fabric, 1, hop, Protocol::kSimple, {},
                                     {.kernels = false, .host_memory = true})
                          .send(sample.size)};
    } else if (sample.kind == CalibrationKind::kBandwidth) {
      pair.size = sample.size * kStream;
      pair.slots = sample.depth;
      time = Duration{pair_write_time(fabric, 1, pair).ps / kStream};
    }
  }
  return times;
}

// Letters, digits, dots and dashes of a file's name.
std::string stem_of(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '-');
  return name.empty() ? "calibrated" : name;
}

std::string registration_note(const std::vector<CalibratedValue>& registration) {
  std::string text = "to register memory takes";
  for (const CalibratedValue& value : registration) {
    text += fmt::format(" {}{}", duration_text({value.value}),
                        value.key == "registration_base" ? " and" : " for each 4 KiB");
  }
  return text;
}

bool write_files(const CalibrateOptions& options, const MeasurePlan& plan,
                 const CalibrationRecord& record, const CalibratedCluster& calibrated,
                 const CommandContext& context) {
  CalibrationOrigin origin{context.version, record.date, record.host, record.backend, {}};
  for (const auto& [name, value] : record.found.facts) origin.facts.push_back(name + ": " + value);
  CalibratedCluster cluster = calibrated;
  cluster.nodes = plan.ranks;
  cluster.name = stem_of(options.scenario);
  const auto write = [](const std::string& path, const std::string& text) {
    if (!path.empty()) write_file_whole(path, text);
  };
  try {
    write(options.nic, device_file_text(calibrated.nic, origin, options.base));
    write(options.gpu, device_file_text(calibrated.gpu, origin, options.gpu_base));
    write(options.scenario, calibrated_scenario_text(cluster, origin));
    write(options.measure.json, calibration_json(record, context.version));
  } catch (const FileError& error) {
    complain(error.what());
    return false;
  }
  return true;
}

int tell(const CalibrateOptions& options, const MeasurePlan& plan, const Measurement& measurement,
         Calibration found, const CommandContext& context) {
  CalibratedCluster calibrated;
  calibrated.nic = calibrated_nic(found);
  calibrated.gpu = calibrated_gpu(found);
  calibrated.registration = calibrated_registration(found);
  CalibrationRecord record;
  record.date = date_now();
  record.host = host_name();
  record.backend = options.measure.backend;
  record.modelled = modelled(found, cluster_of(calibrated.nic, calibrated.gpu));
  record.notes = measurement.notes;
  record.found = std::move(found);
  if (!calibrated.registration.empty()) {
    record.notes.push_back(registration_note(calibrated.registration));
  }
  const bool printed = print(calibration_text(record, context.version));
  if (!printed) complain("standard output could not be written");
  const bool written = write_files(options, plan, record, calibrated, context);
  return printed && written ? kDone : kRunFailed;
}

int calibrate_backend(const CalibrateOptions& options, const CommandContext& context) {
  const CalibrationSettings settings = settings_of(options);
  const MeasurePlan plan = plan_of_ranks(options, settings, context);
  const bool speaks = plan.rank == 0;
  if (speaks) {
    for (const std::string& file :
         {options.nic, options.gpu, options.scenario, options.measure.json}) {
      if (!file.empty()) require_writable(file);
    }
  }
  MeasuredAside aside;
  const Measurement measurement = measure_with_backend(options.measure, plan, aside);
  if (!measurement.failures.empty()) {
    if (speaks || !options.measure.started_by_measure) {
      complain(fmt::format("the run failed: {}", measurement.failures.front()));
    }
    return kRunFailed;
  }
  if (measurement.interrupted) {
    if (speaks) complain("interrupted; nothing is kept");
    return kInterrupted;
  }
  return speaks ? tell(options, plan, measurement, std::move(aside.calibration), context) : kDone;
}

}  // namespace

int run_calibrate(const CalibrateOptions& options, const CommandContext& context) {
  return guarded_ranks(options.measure, [&] {
    return guarded([&] { return calibrate_backend(options, context); });
  });
}

}  // namespace gradhaul
