#include "scenarios/launched_rank.h"

#include <charconv>
#include <cstdint>

namespace gradhaul {
namespace {

using Variables = std::function<std::optional<std::string>(const char*)>;

std::optional<int> number(const Variables& variable, const char* name) {
  const std::optional<std::string> text = variable(name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

struct Convention {
  const char* launcher;
  const char* rank;
  const char* ranks;
  const char* local_ranks;  // as many as there are ranks: all are here
  const char* nodes;        // 1: all are here
  const char* job;
  const char* step;     // of several that a job may have at once
  bool job_everywhere;  // it is called the same on all hosts
};

// Slurm sets rank and tasks for a batch script too, which is no task of a step.
constexpr Convention kConventions[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "",
     "PMIX_NAMESPACE", "", true},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "", "PMI_FD", "", false},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "", "SLURM_STEP_NUM_NODES", "SLURM_JOB_ID",
     "SLURM_STEP_ID", true},
};

}  // namespace

std::optional<LaunchedRank> launched_rank(const Variables& variable) {
  for (const Convention& convention : kConventions) {
    const auto rank = number(variable, convention.rank);
    const auto ranks = number(variable, convention.ranks);
    if (!rank || !ranks || *ranks < 2 || *rank >= *ranks) continue;
    LaunchedRank launched{convention.launcher, *rank, *ranks, false, "", ""};
    launched.all_on_this_host = number(variable, convention.local_ranks) == ranks ||
                                number(variable, convention.nodes) == 1;
    launched.job = variable(convention.job).value_or("");
    if (const auto step = variable(convention.step)) launched.job += "." + *step;
    if (convention.job_everywhere && !launched.job.empty()) {
      launched.token = launched.launcher + " " + launched.job;
    }
    return launched;
  }
  return std::nullopt;
}

int port_of_job(const LaunchedRank& launched) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : launched.job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return 20000 + static_cast<int>(hash % 12000U);
}

}  // namespace gradhaul
