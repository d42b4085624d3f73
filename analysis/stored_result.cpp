#include "analysis/stored_result.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/workload_names.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLongest = 9e12;  // us: what picoseconds hold
constexpr int kDeepest = 64;

[[noreturn]] void fail(const std::string& what) { throw StoredResultError(what); }

// A value of the file that knows its place in it.
class Stored {
 public:
  Stored(const Json& value, std::string path) : value_(value), path_(std::move(path)) {}

  Stored at(const char* key) const {
    if (!has(key)) fail(fmt::format("{} is missing", child(key)));
    return {value_.at(key), child(key)};
  }
  // What is null is as good as missing: what a measurement does not know.
  bool has(const char* key) const {
    return value_.is_object() && value_.contains(key) && !value_.at(key).is_null();
  }
  const Json& json() const { return value_; }
  const std::string& path() const { return path_; }

  std::string text() const {
    if (!value_.is_string()) fail(path_ + " is no text");
    return value_.get<std::string>();
  }
  bool truth() const {
    if (!value_.is_boolean()) fail(path_ + " is neither true nor false");
    return value_.get<bool>();
  }
  double number() const {
    if (!value_.is_number()) fail(path_ + " is no number");
    return value_.get<double>();
  }
  std::int64_t count() const {
    if (!value_.is_number_integer()) fail(path_ + " is no whole number");
    const auto number = value_.get<double>();
    if (number < 0 || number > 9e18) fail(path_ + " is out of range");
    return value_.get<std::int64_t>();
  }
  int small_count() const {
    const std::int64_t number = count();
    if (number > std::numeric_limits<int>::max()) fail(path_ + " is out of range");
    return static_cast<int>(number);
  }
  Duration time() const {
    const double us = number();
    if (!(us >= 0 && us < kLongest)) fail(path_ + " is no time in microseconds");
    return {std::llround(us * 1e6)};
  }
  template <typename Function>
  void each(Function function) const {
    if (!value_.is_array()) fail(path_ + " is no list");
    for (std::size_t i = 0; i < value_.size(); ++i) {
      function(Stored(value_[i], fmt::format("{}.{}", path_, i)));
    }
  }
  template <typename Function>
  void each_named(Function function) const {
    if (!value_.is_object()) fail(path_ + " is no mapping");
    for (const auto& [key, value] : value_.items()) function(key, at(key.c_str()));
  }

 private:
  std::string child(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  const Json& value_;
  std::string path_;
};

template <typename Name, std::size_t count>
Name named(const Stored& value, const std::array<Name, count>& names) {
  const std::string text = value.text();
  for (const Name name : names) {
    if (name_of(name) == text) return name;
  }
  fail(fmt::format("{}: this version knows no \"{}\"", value.path(), text));
}

// "node0.nic0: busy"; without a colon the cause alone.
TimePart part_of(const std::string& key, Duration time) {
  const std::size_t colon = key.rfind(": ");
  if (colon == std::string::npos) return {"", key, time};
  return {key.substr(0, colon), key.substr(colon + 2), time};
}

void read_parts(const Stored& stored, ResultRow& row) {
  if (!stored.json().is_object()) fail(stored.path() + " is no mapping");
  Duration sum;
  for (const auto& [key, value] : stored.json().items()) {
    row.parts.push_back(part_of(key, Stored(value, stored.path() + "." + key).time()));
    sum += row.parts.back().time;
  }
  if (!row.parts.empty() && sum != row.time) {
    fail(fmt::format("{} do not add up to time_us", stored.path()));
  }
}

void read_setup(const Stored& stored, SetupTime& setup) {
  if (!stored.has("setup_us")) return;
  // Earlier versions knew of registration alone.
  if (!stored.has("setup_parts_us")) {
    setup.registration = stored.at("setup_us").time();
    return;
  }
  const Stored parts = stored.at("setup_parts_us");
  setup.queue_pairs = parts.at("queue_pairs").time();
  setup.registration = parts.at("registration").time();
}

ResultRow row_of(const Stored& stored) {
  constexpr std::array kCollectives{Collective::kAllReduce, Collective::kReduceScatter,
                                    Collective::kAllGather, Collective::kBroadcast,
                                    Collective::kAllToAll,  Collective::kSendRecv};
  constexpr std::array kReductions{Reduction::kSum, Reduction::kAvg, Reduction::kMax,
                                   Reduction::kMin};
  ResultRow row;
  row.collective = named(stored.at("collective"), kCollectives);
  row.algorithm = stored.at("algorithm").text();
  row.protocol = stored.at("protocol").text();
  row.channels = stored.at("channels").small_count();
  row.ranks = stored.at("ranks").small_count();
  row.size = {stored.at("size_bytes").count()};
  row.count = stored.at("count").count();
  row.datatype = named(stored.at("datatype"), kDataTypes);
  row.reduction = named(stored.at("reduction"), kReductions);
  row.time = stored.at("time_us").time();
  if (row.ranks < 1 || row.time.ps == 0) fail(stored.path() + " took no time, or has no ranks");
  row.bytes_sent_per_rank = {stored.at("bytes_sent_per_rank").count()};
  // Files of earlier versions, and of measurements, lack them.
  const auto later = [&stored](const char* key) {
    return stored.has(key) ? stored.at(key).count() : 0;
  };
  if (stored.has("profile")) row.profile = stored.at("profile").text();
  read_setup(stored, row.setup);
  if (stored.has("cpu_cores")) row.cpu_cores = stored.at("cpu_cores").number();
  if (stored.has("gpu_sms")) row.held.gpu_sms = stored.at("gpu_sms").small_count();
  row.held.queue_pairs = later("queue_pairs");
  row.held.queue_pairs_per_nic = later("queue_pairs_per_nic");
  row.held.registered = {later("registered_bytes")};
  if (stored.has("limited_by")) row.limited_by = stored.at("limited_by").text();
  if (stored.has("parts_us")) read_parts(stored.at("parts_us"), row);
  return row;
}

ResourceUse use_of(const Stored& stored) {
  return {stored.at("name").text(), stored.at("kind").text(), stored.at("utilisation").number(),
          Bytes{stored.at("bytes").count()}, stored.at("blame_us").time()};
}

PortCounters counters_of(const Stored& stored) {
  PortCounters port;
  port.port = stored.at("port").text();
  port.xmit_wait = stored.at("xmit_wait_us").time();
  port.pfc_pause_frames = stored.at("pfc_pause_frames").count();
  // Files of earlier versions have no such key.
  if (stored.has("pfc_pause_frames_sent")) {
    port.pfc_pause_frames_sent = stored.at("pfc_pause_frames_sent").count();
  }
  port.pfc_paused = stored.at("pfc_paused_us").time();
  port.ecn_marked = stored.at("ecn_marked").count();
  port.cnp = stored.at("cnp").count();
  port.dropped = stored.at("dropped").count();
  port.retransmitted = stored.at("retransmitted").count();
  // Results of earlier versions lack them.
  const auto later = [&stored](const char* key) {
    return stored.has(key) ? stored.at(key).count() : 0;
  };
  port.tx_discards = later("tx_discards");
  port.rx_discards = later("rx_discards");
  port.out_of_sequence = later("out_of_sequence");
  port.packet_seq_err = later("packet_seq_err");
  port.local_ack_timeout_err = later("local_ack_timeout_err");
  port.rnr_nak_retry_err = later("rnr_nak_retry_err");
  port.out_of_credits = stored.at("out_of_credits_us").time();
  if (stored.has("as_on_host")) {
    stored.at("as_on_host").each_named([&port](const std::string& name, const Stored& count) {
      port.as_on_host[name] = count.count();
    });
  }
  return port;
}

void read_engine(const Stored& engine, Prediction& prediction) {
  prediction.fidelity = engine.at("fidelity").text();
  prediction.seed = static_cast<std::uint64_t>(engine.at("seed").count());
  const std::string digest = engine.at("digest").text();
  std::from_chars(digest.data(), digest.data() + digest.size(), prediction.digest, 16);
  prediction.exact = engine.at("exact").truth();
  if (engine.has("error_bound_us")) prediction.error_bound = engine.at("error_bound_us").time();
}

}  // namespace

Json stored_json(std::string_view text) {
  bool too_deep = false;
  const auto watch = [&too_deep](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDeepest;
    return depth <= kDeepest;
  };
  Json json = Json::parse(text.begin(), text.end(), watch, false);
  if (json.is_discarded() || too_deep) fail("this is no JSON, or was cut off");
  return json;
}

namespace {

void read_scenario_record(const Stored& stored, ScenarioRecord& record) {
  record.name = stored.at("name").text();
  record.file = stored.at("file").text();
  record.sha256 = stored.at("sha256").text();
  record.effective = stored.at("effective").json();
}

}  // namespace

bool is_stored_result(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos || text[begin] != '{') return false;
  // The schema is the first key that the program writes; others may write it later.
  return text.find("\"gradhaul.result/") != text.npos;
}

StoredResult read_stored_result(std::string_view text) {
  return stored_result_of(stored_json(text));
}

StoredResult stored_result_of(const Json& json) {
  const Stored stored(json, "");
  if (const std::string schema = stored.at("schema").text(); schema != "gradhaul.result/1") {
    fail(fmt::format("its schema is \"{}\"; this version reads \"gradhaul.result/1\"", schema));
  }
  StoredResult result;
  result.predicted = stored.at("kind").text() == "predicted";
  const Stored engine = stored.at("engine");
  result.version = engine.has("version") ? engine.at("version").text() : "";
  Prediction& prediction = result.prediction;
  if (result.predicted) read_engine(engine, prediction);
  if (!result.predicted) prediction.fidelity = "measured";
  read_scenario_record(stored.at("scenario"), result.scenario);
  stored.at("rows").each([&](const Stored& row) { prediction.rows.push_back(row_of(row)); });
  stored.at("resources").each([&](const Stored& use) {
    prediction.resources.push_back(use_of(use));
  });
  stored.at("counters").each([&](const Stored& port) {
    prediction.counters.push_back(counters_of(port));
  });
  if (stored.has("notes")) {
    stored.at("notes").each([&](const Stored& note) { prediction.notes.push_back(note.text()); });
  }
  if (prediction.rows.empty()) fail("it has no rows: nothing was finished");
  prediction.channels = prediction.rows.back().channels;
  return result;
}

}  // namespace gradhaul
