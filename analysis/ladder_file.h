#pragma once

// Ladders (core/ladder.h) as files, schema "gradhaul.ladder/1":
//
//   schema, kind ("predicted" | "measured"), version, scenario {name, file, sha256, effective},
//   engine: {fidelity, seed} of a prediction, {backend, FACT: …} of a measurement (engine_facts.h)
//   rows: from below, size after size:
//     rung           "link" | "host_pair" | "gpu_pair" | "ring_step" | "collective"
//     size_bytes     of the collective's message
//     carried_bytes  what one NIC sends, one way
//     time_us, bandwidth_GBps (carried_bytes / time_us), of_below (of the next rung below that is
//                    there, of its bandwidth; null of the lowest): all null where `missing` is not
//     missing        null, or why it is not there
//     iterations, min_us, p50_us, p99_us: of what was measured; else null
//   notes

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/result_json.h"
#include "core/ladder.h"

namespace gradhaul {

struct Ladder {
  bool predicted = true;
  ScenarioRecord scenario;
  // The first is what it came from: {"fidelity", "packet"}, {"backend", "tcp"}.
  std::vector<std::pair<std::string, std::string>> engine;
  std::vector<LadderRow> rows;
  std::vector<std::string> notes;
};

// The share that a row's bandwidth is of the next one below that is there; nothing of the lowest.
std::optional<double> share_of_below(const std::vector<LadderRow>& rows, std::size_t row);

std::string ladder_json_text(const Ladder& ladder, const std::string& version);

// The same rows as CSV (RFC 4180), with a head; what is not there is an empty field.
std::string ladder_csv(const Ladder& ladder);

bool is_ladder_json(const nlohmann::json& json);
// Nothing where the file at `path` cannot be opened or is none. Throws InputError where it is one,
// and a key is missing or of the wrong kind.
std::optional<Ladder> read_ladder_file(const std::string& path);

// ", profile nccl-2.30"; nothing where none is known.
std::string profile_words(const std::string& profile);

// A head that says what it is, then rows in columns; every line but these begins with '#'.
std::string ladder_text(const Ladder& ladder, const std::string& version);

}  // namespace gradhaul
