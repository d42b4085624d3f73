#include "scenarios/sweep_ranks_command.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

#include "backends/bootstrap/exchange.h"
#include "backends/spread/help_with_points.h"
#include "scenarios/exit_status.h"
#include "scenarios/rendezvous_command.h"
#include "scenarios/rendezvous_token.h"
#include "scenarios/sweep_point_command.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""s;

// A rank that has something to complain of need not wait long for somebody to tell.
constexpr auto kComplaintDeadline = 5s;

SocketAddress meeting_place(const SweepOptions& options) {
  if (!options.rendezvous.empty()) return rendezvous_address(options.rendezvous);
  if (options.launched->all_on_this_host) return {"127.0.0.1", port_of_job(*options.launched)};
  refuse(
      "--rendezvous",
      fmt::format("{} put ranks on several hosts, or does not say that it did not, and they need "
                  "to be told where rank 0 listens: --rendezvous HOST:PORT, HOST being rank 0's",
                  options.launched->launcher));
}

std::string name_of(const LaunchedRank& rank) { return fmt::format("rank {}", rank.rank); }

int status_of(const HelpReport& report, const LaunchedRank& launched) {
  switch (report.end) {
    case HelpEnd::kOver:
    case HelpEnd::kSentAway:  // rank 0 has told why, and goes on without it
      return kDone;
    case HelpEnd::kInterrupted:
      return kInterrupted;
    case HelpEnd::kHostGone:
      break;
  }
  complain(fmt::format("{}: {}", name_of(launched), report.why));
  return kRunFailed;
}

}  // namespace

int jobs_of(const SweepOptions& options) {
  if (options.jobs) return *options.jobs;
  if (options.launched) return 1;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const bool known = sched_getaffinity(0, sizeof cores, &cores) == 0;
  return known ? std::max(CPU_COUNT(&cores), 1) : 1;
}

std::optional<RankReception> reception_of(const SweepOptions& options) {
  if (!options.launched) {
    if (!options.rendezvous.empty()) {
      refuse("--rendezvous", "is for ranks that mpirun or srun started, and none did");
    }
    return std::nullopt;
  }
  return std::optional<RankReception>(std::in_place, listen_at(meeting_place(options)),
                                      options.launched->ranks,
                                      rendezvous_token(options.token, options.launched));
}

int help_sweep(const SweepOptions& options, const CommandContext& context,
               const std::atomic<bool>& interrupted) {
  const LaunchedRank& launched = *options.launched;
  RendezvousSettings settings{.rank = launched.rank, .ranks = launched.ranks, .hopeless = {}};
  settings.token = rendezvous_token(options.token, options.launched);
  PointWorker self{jobs_of(options), "", ""};
  SweepPlan plan;
  std::optional<ConfigError> wrong;
  try {
    plan = sweep_plan_of(options, context.library, context.version);
    self.likeness = plan.likeness;
  } catch (const ConfigError& error) {
    wrong = error;
    self.problem = error.problems().front().text();
    settings.join_deadline = kComplaintDeadline;
  }
  try {
    RecordLink link = join_rank0(meeting_place(options), settings);
    const auto work = [&plan](std::size_t point) {
      return outcome_text(compute_point(plan, point));
    };
    return status_of(help_with_points(std::move(link), self, work, interrupted), launched);
  } catch (const ExchangeError& error) {
    if (wrong) throw ConfigError(*wrong);
    complain(fmt::format("{}: {}", name_of(launched), error.what()));
    return kRunFailed;
  }
}

}  // namespace gradhaul
