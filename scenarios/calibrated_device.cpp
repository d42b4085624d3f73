#include "scenarios/calibrated_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace gradhaul {
namespace {

// Longer messages are bytes on the way, not latency or requests.
constexpr Bytes kShort{256};
constexpr std::int64_t kPage = 4096;

enum class Rounding : std::uint8_t { kNearest, kDown, kUp };

// To four digits: what repetitions of a busy machine tell is never finer.
std::int64_t to_four_digits(double number, Rounding rounding) {
  if (number <= 0) return 0;
  double unit = 1;
  while (number / unit >= 10'000) unit *= 10;
  const double scaled = number / unit;
  constexpr double kError = 1e-6;  // of the division: what comes out whole stays so
  const double whole = rounding == Rounding::kNearest ? std::round(scaled)
                       : rounding == Rounding::kDown  ? std::floor(scaled + kError)
                                                      : std::ceil(scaled - kError);
  return std::llround(whole * unit);
}

using Samples = std::vector<const CalibrationSample*>;

Samples samples_of(const Calibration& found, CalibrationKind kind) {
  Samples samples;
  for (const CalibrationSample& sample : found.samples) {
    if (sample.kind == kind) samples.push_back(&sample);
  }
  return samples;
}

// A value that is `of` a time: where that falls as the time grows, the ends change places.
CalibratedValue value_of(std::string key, std::optional<Dimension> dimension,
                         const CalibrationSample& sample,
                         const std::function<double(Duration)>& of) {
  CalibratedValue value;
  value.key = std::move(key);
  value.dimension = dimension;
  value.value = to_four_digits(of(sample.median), Rounding::kNearest);
  const auto [low, high] = std::minmax({of(sample.low), of(sample.high)});
  value.low = to_four_digits(low, Rounding::kDown);
  value.high = to_four_digits(high, Rounding::kUp);
  return value;
}

std::string repetitions(const CalibrationSample& sample) {
  return fmt::format("median of {}", sample.repetitions);
}

// Bits a second of what moves so many bytes.
std::function<double(Duration)> rate_of(Bytes bytes) {
  return [bytes](Duration time) { return 8.0 * static_cast<double>(bytes.count) / time.seconds(); };
}

std::string stream_text(const CalibrationSample& sample) {
  return fmt::format("writes of {}, {} on their way, {} queue pair{}; {}",
                     format_bytes(sample.size), sample.depth, sample.queue_pairs,
                     sample.queue_pairs == 1 ? "" : "s", repetitions(sample));
}

bool slower(const CalibrationSample* a, const CalibrationSample* b) {
  return a->bandwidth() < b->bandwidth();
}

void add_rates(const Calibration& found, CalibratedDevice& nic) {
  const Samples streams = samples_of(found, CalibrationKind::kBandwidth);
  if (streams.empty()) return;
  const CalibrationSample& best = **std::max_element(streams.begin(), streams.end(), slower);
  nic.values.push_back(value_of("rate", Dimension::kRate, best, rate_of(best.size)));
  nic.values.back().source =
      fmt::format("payload, the best of {} streams: {}", streams.size(), stream_text(best));
  Samples small;
  std::copy_if(streams.begin(), streams.end(), std::back_inserter(small),
               [&](const CalibrationSample* sample) {
                 return sample->size <= kShort && sample->size == streams.front()->size;
               });
  if (small.empty()) return;
  const CalibrationSample& most = **std::max_element(small.begin(), small.end(), slower);
  nic.values.push_back(value_of("message_rate", std::nullopt, most,
                                [](Duration time) { return std::max(1.0, 1 / time.seconds()); }));
  nic.values.back().source = "the host's threads included; " + stream_text(most);
}

void add_latencies(const Calibration& found, CalibratedDevice& nic) {
  const Samples latencies = samples_of(found, CalibrationKind::kLatency);
  if (latencies.empty() || latencies.front()->size > kShort) return;
  const CalibrationSample& sample = *latencies.front();
  for (const char* const key : {"transmit_latency", "receive_latency"}) {
    nic.values.push_back(value_of(key, Dimension::kTime, sample,
                                  [](Duration time) { return static_cast<double>(time.ps) / 2; }));
    nic.values.back().source =
        fmt::format("half of a write of {}, from its post until the peer's thread knows; {}",
                    format_bytes(sample.size), repetitions(sample));
  }
}

std::string text_of(const CalibratedValue& value, std::int64_t number) {
  return value.dimension ? format_quantity(number, *value.dimension) : fmt::to_string(number);
}

// Lines of a mapping, indented so far.
std::string values_text(const std::vector<CalibratedValue>& values, const std::string& indent) {
  std::string text;
  std::string ranges;
  std::string sources;
  for (const CalibratedValue& value : values) {
    text += fmt::format("{}{}: {}\n", indent, value.key, text_of(value, value.value));
    ranges += fmt::format("{}{}: [{}, {}]", ranges.empty() ? "" : ", ", value.key,
                          text_of(value, value.low), text_of(value, value.high));
    sources += fmt::format("{}  {}: \"{}\"\n", indent, value.key, value.source);
  }
  if (values.empty()) return text;
  return text +
         fmt::format("{0}estimates:\n{0}  {{{1}}}\n{0}sources:\n{2}", indent, ranges, sources);
}

std::string mapping_text(const CalibratedDevice& device, const std::string& indent) {
  return indent + "kind: " + device.kind + "\n" + values_text(device.values, indent);
}

// Below `communication`.
std::string communication_text(const std::vector<CalibratedValue>& values) {
  const bool registers =
      std::any_of(values.begin(), values.end(),
                  [](const CalibratedValue& value) { return value.key == "registration_page"; });
  return (registers ? "  page_size: " + format_bytes({kPage}) + "  # of what was registered\n"
                    : "") +
         values_text(values, "  ");
}

// A name of a host may hold anything.
std::string comment_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string head_text(const CalibrationOrigin& origin, const std::string& base = {}) {
  std::string text =
      fmt::format("# Measured by gradhaul {} calibrate over {} on {}, {}.\n", origin.version,
                  origin.backend, comment_text(origin.host), origin.date);
  for (const std::string& fact : origin.facts) text += "# " + comment_text(fact) + "\n";
  return text +
         "# Each value is a median; between its `estimates` lie eight of ten repetitions. What is\n"
         "# not here was not measured, and is " +
         (base.empty() ? "left to its default.\n" : "the base's.\n");
}

// The longest step with which a slice takes no longer than that, to a ten-thousandth of it.
Duration step_for(Duration time, const std::function<Duration(Duration)>& slice_time) {
  std::int64_t least = 0;
  std::int64_t most = time.ps;  // a slice takes several
  while (most - least > std::max<std::int64_t>(most / 10'000, 1)) {
    const std::int64_t middle = least + (most - least) / 2;
    (slice_time({middle}) > time ? most : least) = middle;
  }
  return {least};
}

const CalibratedValue* find(const CalibratedDevice& device, const std::string& key) {
  for (const CalibratedValue& value : device.values) {
    if (value.key == key) return &value;
  }
  return nullptr;
}

template <typename Set>
void take(const CalibratedDevice& device, const char* key, const Set& set) {
  if (const CalibratedValue* const value = find(device, key)) set(value->value);
}

}  // namespace

CalibratedDevice calibrated_nic(const Calibration& found) {
  CalibratedDevice nic{"nic", {}};
  add_rates(found, nic);
  add_latencies(found, nic);
  return nic;
}

CalibratedDevice calibrated_gpu(const Calibration& found, bool gpu_memory) {
  CalibratedDevice gpu{"gpu", {}};
  const char* const by = gpu_memory ? "by the GPU" : "by one thread";
  if (const Samples sums = samples_of(found, CalibrationKind::kReduce); !sums.empty()) {
    const CalibrationSample& sample = *sums.back();
    gpu.values.push_back(
        value_of("reduce_bandwidth", Dimension::kRate, sample, rate_of(sample.size)));
    gpu.values.back().source = fmt::format("slices of {} added up {}; {}",
                                           format_bytes(sample.size), by, repetitions(sample));
  }
  if (const Samples copies = samples_of(found, CalibrationKind::kCopy); !copies.empty()) {
    const CalibrationSample& sample = *copies.back();
    gpu.values.push_back(
        value_of("memory_bandwidth", Dimension::kRate, sample, rate_of(sample.size * 2)));
    gpu.values.back().source = fmt::format("copies of {} {}, each byte read and written; {}",
                                           format_bytes(sample.size), by, repetitions(sample));
  }
  return gpu;
}

std::optional<CalibratedValue> calibrated_thread_step(
    const Calibration& found, const std::function<Duration(Duration step)>& slice_time) {
  const Samples steps = samples_of(found, CalibrationKind::kStep);
  if (steps.empty() || steps.front()->median <= slice_time({})) return std::nullopt;
  const CalibrationSample& sample = *steps.front();
  CalibratedValue value = value_of("thread_step", Dimension::kTime, sample, [&](Duration time) {
    return static_cast<double>(step_for(time, slice_time).ps);
  });
  // What was sought for each ends a little below it.
  value.low = std::min(value.low, value.value);
  value.high = std::max(value.high, value.value);
  value.source = fmt::format("what slices of {} in a ring take beyond their writes and sums; {}",
                             format_bytes(sample.size), repetitions(sample));
  return value;
}

std::vector<CalibratedValue> calibrated_registration(const Calibration& found) {
  const Samples samples = samples_of(found, CalibrationKind::kRegistration);
  if (samples.size() < 2) return {};
  const CalibrationSample& small = *samples.front();
  const CalibrationSample& large = *samples.back();
  const auto pages = [](const CalibrationSample& sample) {
    return static_cast<double>((sample.size.count + kPage - 1) / kPage);
  };
  if (pages(large) <= pages(small) || large.median <= small.median) return {};
  CalibratedValue page;
  page.key = "registration_page";
  page.dimension = Dimension::kTime;
  const double more = pages(large) - pages(small);
  // What the ends of both make of the slope.
  const auto slope = [&](Duration of_large, Duration of_small) {
    return std::max(0.0, static_cast<double>(of_large.ps - of_small.ps) / more);
  };
  page.value = to_four_digits(slope(large.median, small.median), Rounding::kNearest);
  page.low = to_four_digits(slope(large.low, small.high), Rounding::kDown);
  page.high = to_four_digits(slope(large.high, small.low), Rounding::kUp);
  page.source = fmt::format("{} and {} of the host's memory registered, in pages of {}; {}",
                            format_bytes(small.size), format_bytes(large.size),
                            format_bytes({kPage}), repetitions(large));
  const double in_small = slope(large.median, small.median) * pages(small);
  CalibratedValue base = value_of("registration_base", Dimension::kTime, small, [&](Duration time) {
    return std::max(0.0, static_cast<double>(time.ps) - in_small);
  });
  base.source = page.source;
  return {base, page};
}

NicModel nic_model_of(const CalibratedDevice& nic) {
  NicModel model;
  take(nic, "rate", [&](std::int64_t value) { model.rate = {value}; });
  take(nic, "message_rate", [&](std::int64_t value) { model.message_rate = value; });
  take(nic, "transmit_latency", [&](std::int64_t value) { model.transmit_latency = {value}; });
  take(nic, "receive_latency", [&](std::int64_t value) { model.receive_latency = {value}; });
  return model;
}

GpuModel gpu_model_of(const CalibratedDevice& gpu) {
  GpuModel model;
  take(gpu, "reduce_bandwidth", [&](std::int64_t value) { model.reduce_bandwidth = {value}; });
  take(gpu, "memory_bandwidth", [&](std::int64_t value) { model.memory_bandwidth = {value}; });
  return model;
}

Cluster calibrated_cluster(const CalibratedDevice& nic, const CalibratedDevice& gpu, int nodes) {
  Cluster cluster;
  cluster.nodes = nodes;
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

std::string communication_comment(const std::vector<CalibratedValue>& values) {
  std::string text;
  for (const CalibratedValue& value : values) {
    if (value.key == "thread_step") continue;
    text += fmt::format("# --set communication.{}={} (from {} to {}): {}\n", value.key,
                        text_of(value, value.value), text_of(value, value.low),
                        text_of(value, value.high), value.source);
  }
  return text;
}

std::string device_file_text(const CalibratedDevice& device, const CalibrationOrigin& origin,
                             const std::string& base) {
  std::string text = head_text(origin, base);
  if (const CalibratedValue* const rate = find(device, "rate")) {
    text += fmt::format("# A network's link has to be no faster: --set cluster.network.link={}\n",
                        text_of(*rate, rate->value));
  }
  if (!base.empty()) text += "base: " + base + "\n";
  // A write was measured as a whole: what the base says of its parts would come on top.
  if (!base.empty() && find(device, "transmit_latency") != nullptr) {
    text += "# Both latencies hold these too.\n";
    for (const char* const part : {"post", "doorbell", "wqe_fetch", "completion"}) {
      text += fmt::format("{}: 0ns\n", part);
    }
  }
  return text + mapping_text(device, "");
}

std::string calibrated_scenario_text(const CalibratedCluster& cluster,
                                     const CalibrationOrigin& origin) {
  const CalibratedValue* const rate = find(cluster.nic, "rate");
  std::string text = head_text(origin);
  text += fmt::format(
      "scenario: {}\nquestion: What does the model make of what was measured of a single write?\n\n"
      "workload:\n  collective: all_reduce\n  size: {{from: 4KiB, to: 4MiB, factor: 4}}\n"
      "  datatype: fp32\n\n"
      "communication:\n  channels: 1\n  slot_size: 64KiB\n{}\n"
      "cluster:\n  nodes: {}\n  node:\n    name: {}\n"
      "    socket_link: {{bandwidth: unlimited, latency: 0ns}}\n"
      "    root_complex: {{latency: 0ns}}\n    host_memory: {{latency: 0ns}}\n"
      "    gpus:\n      count: 1\n      model:\n        name: {}-memory\n{}"
      "    nics:\n      count: 1\n      model:\n        name: {}-nic\n{}",
      cluster.name, communication_text(cluster.communication), cluster.nodes, cluster.name,
      cluster.name, mapping_text(cluster.gpu, "        "), cluster.name,
      mapping_text(cluster.nic, "        "));
  // All that the wire adds is in the NIC's values.
  return text + fmt::format(
                    "  network:\n    name: {}-wire\n    kind: ideal\n    link: {}\n"
                    "    cables: {{node: 0m, spine: 0m}}\n"
                    "    switch: {{latency: 0ns, vl_buffer: unlimited}}\n"
                    "    credit_return: 0ns\n",
                    cluster.name,
                    rate == nullptr ? std::string("400Gb/s") : text_of(*rate, rate->value));
}

}  // namespace gradhaul
