#include "scenarios/measure_plan.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>

#include "core/listed_program.h"
#include "scenarios/communication_thread_reader.h"
#include "scenarios/quantity.h"
#include "scenarios/rendezvous_token.h"

namespace gradhaul {
namespace {

RankStart start_of(const MeasureOptions& options) {
  if (options.started_by_measure || options.rank) return RankStart::kByHand;
  return options.launched ? RankStart::kLauncher : RankStart::kThisProcess;
}

std::string token_of(const MeasureOptions& options, RankStart start) {
  if (start == RankStart::kThisProcess) return drawn_token();
  // Of ranks by hand one may have been typed within a launcher's job, and another not.
  return rendezvous_token(options.token,
                          start == RankStart::kLauncher ? options.launched : std::nullopt,
                          options.started_by_measure);
}

std::chrono::nanoseconds timeout_of(const std::string& text) {
  const Parsed<std::int64_t> parsed = parse_quantity(text, Dimension::kTime);
  if (!parsed.value) refuse("--timeout", fmt::format("\"{}\" {}", text, parsed.error));
  const std::chrono::nanoseconds timeout(*parsed.value / 1000);
  if (timeout < std::chrono::milliseconds(100)) {
    refuse("--timeout", "at least 100ms, or a rank that only waits for its turn is given up");
  }
  return timeout;
}

// Whether so many ranks take the place of the scenario's: always where one asks for a number of
// them here; else only where the scenario has another number.
bool replaces_ranks(const MeasureOptions& options, RankStart start, const Scenario& scenario) {
  if (!options.ranks && start != RankStart::kLauncher) return false;
  if (start == RankStart::kThisProcess || options.started_by_measure) return true;
  const int ranks = options.ranks ? *options.ranks : options.launched->ranks;
  return ranks != scenario.cluster.ranks();
}

void check_place(const MeasureOptions& options, const MeasurePlan& plan) {
  if (plan.rank >= plan.ranks) {
    refuse("--rank", fmt::format("there is no rank {} of {}; they are counted from 0", plan.rank,
                                 plan.ranks));
  }
  if (options.ranks && options.launched && plan.start == RankStart::kLauncher &&
      *options.ranks != options.launched->ranks) {
    refuse("--ranks", fmt::format("{} started {} ranks, not {}", options.launched->launcher,
                                  options.launched->ranks, *options.ranks));
  }
  if (options.backend == "loopback" && plan.start != RankStart::kThisProcess) {
    const std::string who = plan.start == RankStart::kByHand
                                ? std::string("--rank makes this one of several")
                                : options.launched->launcher + " started several";
    refuse("--backend", fmt::format("loopback runs all ranks in one process, and {}; "
                                    "--backend tcp joins processes",
                                    who));
  }
  if (plan.rendezvous.empty() && plan.start != RankStart::kThisProcess) {
    refuse("--rendezvous",
           plan.start == RankStart::kByHand
               ? std::string("ranks started by hand need to be told where rank 0 listens: "
                             "--rendezvous HOST:PORT, the same for all")
               : fmt::format("{} put ranks on several hosts, or does not say that it did not, and "
                             "they need to be told where rank 0 listens: --rendezvous HOST:PORT, "
                             "HOST being rank 0's",
                             options.launched->launcher));
  }
}

// Bytes that this host can still give; -1 where it does not say.
std::int64_t available_memory() {
  std::ifstream lines("/proc/meminfo");
  std::string name;
  std::int64_t kibibytes = 0;
  std::string rest;
  while (lines >> name >> kibibytes && std::getline(lines, rest)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return -1;
}

// Input and output of every rank here; receive slots come on top, as far as they are used.
void check_memory(const MeasureOptions& options, const MeasurePlan& plan) {
  if (plan.start != RankStart::kThisProcess || options.memory != "host") return;
  Bytes largest;
  for (const Bytes size : plan.scenario.workload.sizes) largest = std::max(largest, size);
  const std::int64_t available = available_memory();
  const double needed = 2.0 * plan.ranks * static_cast<double>(largest.count);
  if (available < 0 || needed <= static_cast<double>(available)) return;
  refuse("workload.size",
         fmt::format("{} ranks with {} each need {:.1f} GB for inputs and outputs, and this host "
                     "has {:.1f} GB left; take a smaller size (--set workload.size=64MiB) or fewer "
                     "--ranks",
                     plan.ranks, format_bytes(largest), needed / 1e9,
                     static_cast<double>(available) / 1e9));
}

void flatten(const std::string& path, const nlohmann::ordered_json& json,
             std::vector<std::pair<std::string, std::string>>& values) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      flatten(path.empty() ? key : path + "." + key, value, values);
    }
  } else {
    values.emplace_back(path, json.is_string() ? json.get<std::string>() : json.dump());
  }
}

std::vector<std::pair<std::string, std::string>> agreed_values(const MeasureOptions& options,
                                                               const MeasurePlan& plan,
                                                               const CommandContext& context) {
  const auto count = [](const std::optional<int>& value) {
    return value ? std::to_string(*value) : std::string("automatic");
  };
  std::vector<std::pair<std::string, std::string>> values{
      {"gradhaul", context.version},
      {"--backend", options.backend},
      {"--iterations", count(options.iterations)},
      {"--warmup", count(options.warmup)},
      {"--memory", options.memory},
      {"--within-node", options.within_node},
      {"--ladder", options.ladder ? "on" : "off"},
      {"--pairs", options.pairs ? "on" : "off"},
  };
  if (const auto& listed = plan.scenario.communication.listed) {
    values.emplace_back("file of communication.algorithm (sha256)", listed->digest);
  }
  flatten("", plan.scenario.effective(), values);
  return values;
}

// What stands back for so many ranks, one a node; nothing where the scenario has the same.
std::string instead_of(const std::optional<Cluster>& own, int ranks) {
  if (!own || (own->ranks() == ranks && own->ranks_per_node == 1)) return "";
  if (own->ranks_per_node == 1) return fmt::format(", instead of the scenario's {}", own->ranks());
  return fmt::format(", instead of the scenario's {}, {} a node", own->ranks(),
                     own->ranks_per_node);
}

// The scenario, with other ranks in the place of its own where others are asked for: what is wrong
// with its own number alone, as with an algorithm's file that is for another, is not wrong then.
void read_with_ranks(const MeasureOptions& options, const CommandContext& context,
                     MeasurePlan& plan) {
  ScenarioRequest request{options.scenario, options.settings, context.library};
  const bool asked = options.ranks || plan.start == RankStart::kLauncher;
  std::optional<Cluster> own;
  try {
    plan.scenario = read_scenario(request);
    own = plan.scenario.cluster;
  } catch (const ConfigError&) {
    if (!asked) throw;
  }
  if (own && !replaces_ranks(options, plan.start, plan.scenario)) return;
  const int ranks = options.ranks ? *options.ranks : options.launched->ranks;
  plan.notes.push_back(fmt::format("{} ranks, one a node{}", ranks, instead_of(own, ranks)));
  request.settings.push_back(fmt::format("cluster.nodes={}", ranks));
  request.settings.emplace_back("cluster.ranks_per_node=1");
  plan.scenario = read_scenario(request);
}

void refuse_simulated_only(const Scenario& scenario, const std::string& backend) {
  Problems problems;
  const Location whole{scenario.file, 0, 0};
  if (!scenario.jobs.empty() || !scenario.background.empty()) {
    problems.add(whole,
                 "measure runs one collective on all ranks; jobs and background traffic are "
                 "simulated (gradhaul predict)");
  }
  if (!scenario.cluster.faults.empty()) {
    problems.add(whole,
                 "measure takes a cluster as it is; faults are simulated (gradhaul predict), and "
                 "--set cluster.faults=[] leaves them out");
  }
  if (backend != "verbs" && scenario.communication.threads.at == ThreadPlacement::At::kOther) {
    problems.add(whole,
                 "thread_placement: other_socket is another than that of the NIC, which --backend "
                 "verbs alone knows; measure with --set communication.thread_placement=socket1, or "
                 "the like");
  }
  if (const std::string threads = what_threads_do(scenario.communication); !threads.empty()) {
    problems.add(whole, fmt::format("measure registers memory once and has no use for {}, which "
                                    "are simulated (gradhaul predict); --rdma completion=events "
                                    "has the verbs backend sleep",
                                    threads));
  }
  if (backend == "verbs" && scenario.communication.tcp) {
    problems.add(whole,
                 "--backend verbs goes by RDMA, and the scenario by TCP; --backend tcp does, and "
                 "--set communication.transport=rdma makes the scenario RDMA's");
  }
  if (!problems.empty()) throw ConfigError(problems.sorted());
}

}  // namespace

MeasurePlan plan_of(const MeasureOptions& options, const CommandContext& context) {
  MeasurePlan plan;
  plan.start = start_of(options);
  plan.timeout = timeout_of(options.timeout);
  read_with_ranks(options, context, plan);
  if (plan.scenario.training_step) {
    refuse("workload.training_step",
           "a training step is predicted only; what one of its messages takes can be measured, as "
           "with --set workload.size=" +
               format_bytes(plan.scenario.workload.sizes.front()));
  }
  if (plan.scenario.goal) {
    refuse("workload.goal", "a program is simulated only (gradhaul predict)");
  }
  refuse_simulated_only(plan.scenario, options.backend);
  plan.ranks = plan.scenario.cluster.ranks();
  plan.rank = options.rank ? *options.rank : 0;
  plan.rendezvous = options.started_by_measure ? options.rank0_at : options.rendezvous;
  plan.token = token_of(options, plan.start);
  if (plan.start == RankStart::kLauncher) {
    plan.rank = options.launched->rank;
    if (plan.rendezvous.empty() && options.launched->all_on_this_host) {
      plan.rendezvous = fmt::format("127.0.0.1:{}", port_of_job(*options.launched));
    }
  }
  check_place(options, plan);
  // Pairs write one slice over and over.
  if (!options.pairs) check_memory(options, plan);
  plan.agreed = agreed_values(options, plan, context);
  return plan;
}

}  // namespace gradhaul
