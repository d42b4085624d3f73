#pragma once

// communication.algorithm as the path of a file that lists it (scenarios/msccl_reader.h). Before it
// runs it is checked as the project's own algorithms are: played chunk by chunk
// (core/listed_program.h) and, of up to 64 ranks, run by the real engines on symbols with the slots
// that it is to have (core/symbolic_checker.h).

#include <memory>
#include <optional>
#include <string_view>

#include "core/listed_program.h"
#include "core/workload.h"
#include "scenarios/mapping_reader.h"
#include "scenarios/msccl_reader.h"

namespace gradhaul {

// Whether the text names a file rather than an algorithm: it has a slash, or ends in .xml.
bool names_algorithm_file(std::string_view text);

struct ListedFile {
  std::shared_ptr<const ListedProgram> program;
  std::optional<Protocol> protocol;
};

// The file that `key` names, for this collective and so many ranks (0: not known). Nothing where
// something is wrong, which is reported.
std::optional<ListedFile> read_listed_file(MappingReader& reader, std::string_view key,
                                           Collective collective, int ranks);

// Rounds the message sizes down to whole chunks, with a note; reports, at `key`, one that is less.
void fit_sizes(MappingReader& reader, std::string_view key, const ListedProgram& program,
               Workload& workload, std::vector<std::string>& notes);

// Reports, at `key`, where so few slots make it stop, or its result is not what it should be.
void check_listed_program(MappingReader& reader, std::string_view key,
                          const std::shared_ptr<const ListedProgram>& program, int slots);

}  // namespace gradhaul
