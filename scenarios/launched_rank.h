#pragma once

// Who this process is, as a launcher (mpirun, srun) tells it by environment variables.

#include <functional>
#include <optional>
#include <string>

namespace gradhaul {

struct LaunchedRank {
  std::string launcher;  // "mpirun", "srun"
  int rank = 0;
  int ranks = 1;
  bool all_on_this_host = false;
  std::string job;  // what tells one job of this launcher from another; may be empty
  // The same on all hosts, which not every `job` is: Open MPI's and Slurm's are. No secret.
  std::string token = {};
};

// `variable` gives the value of an environment variable, or nothing. Nothing where no launcher
// started this process, or only one of it. Open MPI, whatever speaks PMI (MPICH, Intel MPI), Slurm.
std::optional<LaunchedRank> launched_rank(
    const std::function<std::optional<std::string>(const char*)>& variable);

// A port for ranks that are all on this host: the same for all ranks of a job, mostly another for
// another job, and outside what systems give to clients (Linux: from 32768).
int port_of_job(const LaunchedRank& launched);

}  // namespace gradhaul
