#include "analysis/pair_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/quantity_text.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

const PairTime* find(const PairMatrix& matrix, int nic, int from, int to) {
  for (const PairTime& time : matrix.times) {
    if (time.nic == nic && time.from == from && time.to == to) return &time;
  }
  return nullptr;
}

// The least first.
std::vector<double> sorted_bandwidths(const PairMatrix& matrix) {
  GRADHAUL_ASSERT(!matrix.times.empty(), "there are pairs");
  std::vector<double> all;
  for (const PairTime& time : matrix.times) all.push_back(matrix.bandwidth(time));
  std::sort(all.begin(), all.end());
  return all;
}

std::string matrix_of_nic(const PairMatrix& matrix, int nic) {
  std::string text = fmt::format("# nic{}, GB/s one way, from row to column:\n#{:>8}", nic, "");
  for (int to = 0; to < matrix.nodes; ++to) {
    text += fmt::format(" {:>8}", fmt::format("node{}", to));
  }
  text += "\n";
  for (int from = 0; from < matrix.nodes; ++from) {
    text += fmt::format(" {:>8}", fmt::format("node{}", from));
    for (int to = 0; to < matrix.nodes; ++to) {
      const PairTime* const time = find(matrix, nic, from, to);
      text += time == nullptr ? fmt::format(" {:>8}", "-")
                              : fmt::format(" {:>8.3f}", matrix.bandwidth(*time) / 1e9);
    }
    text += "\n";
  }
  return text;
}

std::string memory_text(const PairMatrix& matrix) {
  return matrix.settings.gpu_memory ? "GPU memory" : "host memory";
}

std::string summary_text(const PairMatrix& matrix) {
  const PairTime& worst = matrix.worst();
  std::vector<double> both;
  for (const PairTime& time : matrix.times) both.push_back(matrix.both_ways(time));
  std::sort(both.begin(), both.end());
  std::string text = fmt::format(
      "# Median: {} one way; both ways at once {} each way.\n# Worst: node{} to node{} by nic{}: "
      "{}.\n",
      rate_text(matrix.median()), rate_text(both[both.size() / 2]), worst.from, worst.to, worst.nic,
      rate_text(matrix.bandwidth(worst)));
  if (matrix.predicted.empty()) return text;
  const auto slowest = *std::max_element(matrix.predicted.begin(), matrix.predicted.end());
  const auto fastest = *std::min_element(matrix.predicted.begin(), matrix.predicted.end());
  const auto rate = [&](Duration time) {
    return rate_text(static_cast<double>(matrix.settings.size.count) / time.seconds());
  };
  text += slowest == fastest
              ? fmt::format("# Predicted: {} for every pair.\n", rate(fastest))
              : fmt::format("# Predicted: {} to {}.\n", rate(slowest), rate(fastest));
  return text;
}

Json or_null(int value) { return value < 0 ? Json() : Json(value); }

Json suspect_json(const Suspect& suspect) {
  static constexpr const char* kKinds[] = {"rail", "node", "sender", "receiver", "leaf", "pair"};
  return {{"kind", kKinds[static_cast<std::size_t>(suspect.kind)]},
          {"nic", or_null(suspect.nic)},
          {"node", or_null(suspect.node)},
          {"other", or_null(suspect.other)},
          {"leaf", or_null(suspect.leaf)},
          {"both_ways", suspect.both_ways},
          {"share", suspect.share},
          {"text", sentence_of(suspect)}};
}

Json pair_json(const PairMatrix& matrix, std::size_t index) {
  const PairTime& time = matrix.times[index];
  Json json = {{"nic", time.nic},
               {"from", time.from},
               {"to", time.to},
               {"one_way_us", microseconds(time.one_way)},
               {"one_way_GBps", matrix.bandwidth(time) / 1e9},
               {"both_ways_us", microseconds(time.both_ways)},
               {"both_ways_GBps", matrix.both_ways(time) / 1e9},
               {"repeats", time.repeats},
               {"predicted_us", nullptr},
               {"ratio", nullptr},
               {"both_ways_ratio", nullptr}};
  if (matrix.predicted.empty()) return json;
  const Duration predicted = matrix.predicted[index];
  json["predicted_us"] = microseconds(predicted);
  const auto ratio = [&](Duration measured) {
    return static_cast<double>(measured.ps) / static_cast<double>(predicted.ps);
  };
  json["ratio"] = ratio(time.one_way);
  json["both_ways_ratio"] = ratio(time.both_ways);
  return json;
}

}  // namespace

double PairMatrix::bandwidth(const PairTime& time) const {
  return static_cast<double>(settings.size.count) / time.one_way.seconds();
}

double PairMatrix::both_ways(const PairTime& time) const {
  return static_cast<double>(settings.size.count) / time.both_ways.seconds();
}

double PairMatrix::median() const {
  const std::vector<double> all = sorted_bandwidths(*this);
  const std::size_t middle = all.size() / 2;
  return all.size() % 2 == 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
}

double PairMatrix::upper_quartile() const {
  const std::vector<double> all = sorted_bandwidths(*this);
  return all[all.size() * 3 / 4];
}

const PairTime& PairMatrix::worst() const {
  return *std::max_element(times.begin(), times.end(), [](const PairTime& a, const PairTime& b) {
    return a.one_way < b.one_way;
  });
}

std::string pair_matrix_text(const PairMatrix& matrix, const std::string& version) {
  std::string text = fmt::format(
      "# gradhaul {}: pairs of {}, measured ({}): {} nodes, writes of {} from {} to {}\n#\n",
      version, matrix.scenario, matrix.backend, matrix.nodes, bytes_text(matrix.settings.size),
      memory_text(matrix), memory_text(matrix));
  for (int nic = 0; nic < matrix.settings.nics; ++nic) text += matrix_of_nic(matrix, nic);
  text += summary_text(matrix);
  const std::vector<Suspect> suspects = suspects_of(matrix);
  for (const Suspect& suspect : suspects) text += fmt::format("# {}.\n", sentence_of(suspect));
  if (suspects.empty()) {
    text += fmt::format("# Nobody is suspect: all within {} of the upper quartile.\n",
                        percent_text(matrix.tolerance));
  }
  const auto repeated = std::count_if(matrix.times.begin(), matrix.times.end(),
                                      [](const PairTime& time) { return time.repeats > 0; });
  if (repeated > 0) {
    text += fmt::format(
        "# Rounds with slow writes were measured up to twice more; of {} of {} pairs the best of "
        "them stands here.\n",
        repeated, matrix.times.size());
  }
  for (const std::string& note : matrix.notes) text += fmt::format("# Note: {}\n", note);
  return text;
}

std::string pair_matrix_json(const PairMatrix& matrix, const std::string& version) {
  const PairTime& worst = matrix.worst();
  Json json = {{"schema", "gradhaul.pairs/1"},
               {"kind", "measured"},
               {"version", version},
               {"scenario", matrix.scenario},
               {"backend", matrix.backend},
               {"nodes", matrix.nodes},
               {"nics", matrix.settings.nics},
               {"memory", matrix.settings.gpu_memory ? "gpu" : "host"},
               {"size_bytes", matrix.settings.size.count},
               {"tolerance", matrix.tolerance},
               {"pairs", Json::array()},
               {"median_GBps", matrix.median() / 1e9},
               {"upper_quartile_GBps", matrix.upper_quartile() / 1e9}};
  for (std::size_t i = 0; i < matrix.times.size(); ++i) {
    json["pairs"].push_back(pair_json(matrix, i));
  }
  json["worst"] = {{"nic", worst.nic},
                   {"from", worst.from},
                   {"to", worst.to},
                   {"GBps", matrix.bandwidth(worst) / 1e9}};
  json["suspects"] = Json::array();
  for (const Suspect& suspect : suspects_of(matrix)) {
    json["suspects"].push_back(suspect_json(suspect));
  }
  json["notes"] = matrix.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gradhaul
