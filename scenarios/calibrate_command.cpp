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
#include "backends/measure/calibrate.h"
#include "scenarios/calibrated_device.h"
#include "scenarios/exit_status.h"
#include "scenarios/guarded_command.h"
#include "scenarios/measure_backends_command.h"
#include "scenarios/measure_plan.h"
#include "scenarios/quantity.h"
#include "scenarios/rank_memory_command.h"
#include "sim/calibration_model.h"

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

// Letters, digits, dots and dashes of a file's name.
std::string stem_of(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '-');
  return name.empty() ? "calibrated" : name;
}

std::string note_of(const CalibratedValue& value) {
  return fmt::format("communication.{}={} ({} to {}): {}", value.key, duration_text({value.value}),
                     duration_text({value.low}), duration_text({value.high}), value.source);
}

// 0 where there is none.
Duration step_of(const std::vector<CalibratedValue>& values) {
  for (const CalibratedValue& value : values) {
    if (value.key == "thread_step") return {value.value};
  }
  return {};
}

// What the threads of ranks do of a ring beside their writes, and what they register.
std::vector<CalibratedValue> calibrated_communication(const Calibration& found,
                                                      const CalibrationModel& model,
                                                      bool gpu_memory) {
  std::vector<CalibratedValue> values;
  if (auto step = calibrated_thread_step(
          found, [&](Duration thread_step) { return model.slice_time(found, thread_step); })) {
    values.push_back(std::move(*step));
  }
  // Only memory of the host is ever registered here.
  if (gpu_memory) return values;
  for (CalibratedValue& value : calibrated_registration(found)) values.push_back(std::move(value));
  return values;
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
    write(options.nic, device_file_text(calibrated.nic, origin, options.base) +
                           communication_comment(calibrated.communication));
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
  const bool gpu_memory = in_gpu_memory(options.measure);
  calibrated.gpu = calibrated_gpu(found, gpu_memory);
  const CalibrationModel model(calibrated_cluster(calibrated.nic, calibrated.gpu, plan.ranks),
                               gpu_memory,
                               {plan.scenario.communication.slots, plan.scenario.workload.datatype,
                                ring_slices(*plan.calibration)});
  calibrated.communication = calibrated_communication(found, model, gpu_memory);
  CalibrationRecord record;
  record.date = date_now();
  record.host = host_name();
  record.backend = options.measure.backend;
  record.modelled = model.times(found, step_of(calibrated.communication));
  record.notes = measurement.notes;
  record.found = std::move(found);
  for (const CalibratedValue& value : calibrated.communication) {
    record.notes.push_back(note_of(value));
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
