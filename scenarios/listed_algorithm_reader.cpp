#include "scenarios/listed_algorithm_reader.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/listed_schedule.h"
#include "core/symbolic_checker.h"
#include "core/workload_names.h"
#include "scenarios/references.h"
#include "scenarios/sha256.h"

namespace gradhaul {
namespace {

constexpr int kMostProven = 64;  // ranks: a symbol has a bit for each

std::shared_ptr<const ListedProgram> program_of(const ListedAlgorithm& algorithm,
                                                const std::string& file, Problems& problems) {
  std::vector<ListedProblem> found;
  check_listed_shape(algorithm, found);
  std::shared_ptr<const ListedProgram> program;
  if (found.empty()) program = listed_program(algorithm, found);
  for (const ListedProblem& problem : found) {
    problems.add({file, problem.line, 1}, problem.text);
  }
  return program;
}

}  // namespace

bool names_algorithm_file(std::string_view text) {
  return text.find('/') != text.npos || text.ends_with(".xml");
}

std::optional<ListedFile> read_listed_file(MappingReader& reader, std::string_view key,
                                           Collective collective, int ranks) {
  const TreeNode& node = *reader.raw(key);
  // As it is found from the working directory, so that a result tells it too.
  const std::filesystem::path path = path_beside(node).lexically_normal();
  reader.record(key, FilledValue::Kind::kText, path.string(), &node);
  const auto text = read_file(path, node.location, reader.problems());
  if (!text) return std::nullopt;
  auto listed = read_msccl(*text, path.string(), reader.problems());
  if (!listed) return std::nullopt;
  ListedAlgorithm& algorithm = listed->algorithm;
  algorithm.digest = sha256(*text);
  if (algorithm.collective != collective) {
    reader.report(key,
                  fmt::format("{}: {} is an algorithm of {}, and workload.collective is {}", key,
                              path.string(), name_of(algorithm.collective), name_of(collective)));
    return std::nullopt;
  }
  if (ranks > 0 && ranks != static_cast<int>(algorithm.ranks.size())) {
    reader.report(key, fmt::format("{}: {} is for {} ranks, and the cluster has {}", key,
                                   path.string(), algorithm.ranks.size(), ranks));
    return std::nullopt;
  }
  auto program = program_of(algorithm, path.string(), reader.problems());
  if (!program) return std::nullopt;
  return ListedFile{std::move(program), listed->protocol};
}

void fit_sizes(MappingReader& reader, std::string_view key, const ListedProgram& program,
               Workload& workload, std::vector<std::string>& notes) {
  const Bytes chunks = size_of(workload.datatype) * program.chunks;
  for (Bytes& size : workload.sizes) {
    const Bytes whole{size.count / chunks.count * chunks.count};
    if (whole.count == 0) {
      reader.report(key, fmt::format("{}: {} cuts a message into {} chunks of at least one "
                                     "element, {} bytes, and it has {}",
                                     key, program.name, program.chunks, chunks.count, size.count));
      return;
    }
    if (whole != size) {
      notes.push_back(fmt::format("size {} is rounded down to {} bytes, {} equal chunks of {}",
                                  size.count, whole.count, program.chunks, program.name));
    }
    size = whole;
  }
}

void check_listed_program(MappingReader& reader, std::string_view key,
                          const std::shared_ptr<const ListedProgram>& program, int slots) {
  if (program->ranks.size() > kMostProven) return;
  oracle::CheckSettings settings;
  settings.collective = program->collective;
  settings.world.engine.slots = slots;
  settings.world.engine.slot_size = size_of(settings.world.engine.datatype);
  // Two slices of each chunk, so that one follows the other.
  settings.world.count = 2 * std::int64_t{program->chunks};
  const ListedSchedule schedule(program, settings.world.count, 1);
  for (const bool in_place : {false, true}) {
    if (in_place && !program->in_place) continue;
    settings.world.in_place = in_place;
    const oracle::CheckReport report = oracle::check_schedule(schedule, settings);
    if (report.ok()) continue;
    reader.report(key, fmt::format("{}: {} does not come to its end with {} slot{}{}: {}", key,
                                   program->name, slots, slots == 1 ? "" : "s",
                                   in_place ? " in place" : "", report.violations.front()));
    return;
  }
}

}  // namespace gradhaul
