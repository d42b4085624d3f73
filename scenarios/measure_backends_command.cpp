#include "scenarios/measure_backends_command.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "backends/bootstrap/agreement.h"
#include "backends/bootstrap/tcp_exchange.h"
#include "backends/bootstrap/thread_exchange.h"
#include "backends/cuda/gpu_verbs_endpoint_maker.h"
#include "backends/cuda/staged_endpoint.h"
#include "backends/loopback/memory_endpoint.h"
#include "backends/measure/measure.h"
#include "backends/measure/measured_counters.h"
#include "backends/shared/node_endpoint_maker.h"
#include "backends/tcp/tcp_endpoint_maker.h"
#include "backends/verbs/verbs_endpoint_maker.h"
#include "core/placement.h"
#include "scenarios/did_you_mean.h"
#include "scenarios/exit_status.h"
#include "scenarios/interruption.h"
#include "scenarios/notes_of_ranks.h"
#include "scenarios/rank_memory_command.h"
#include "scenarios/rank_processes.h"
#include "scenarios/rdma_settings_command.h"
#include "scenarios/rendezvous_command.h"

namespace gradhaul {
namespace {

using std::chrono::milliseconds;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// For a half row without a given number of iterations.
constexpr auto kBudget = 2s;
// For each of the three measurements of a round of pairs, of 64 nodes there are 63 rounds; and for
// each sample of a calibration.
constexpr auto kPairBudget = 200ms;
// What a host fills, copies and compares in a second at the least, all ranks together.
constexpr double kSlowestMemory = 200e6;

const std::vector<std::string> kBackends{"loopback", "tcp", "verbs"};

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void refuse_backend(const std::string& backend) {
  refuse("--backend " + backend, fmt::format("there is no such backend{}; this version has {}",
                                             did_you_mean(backend, kBackends), join_or(kBackends)));
}

MeasureRequest request_of(const MeasureOptions& options, const MeasurePlan& plan,
                          const std::atomic<bool>& interrupted) {
  MeasureRequest request;
  request.cluster = plan.scenario.cluster;
  request.workload = plan.scenario.workload;
  request.communication = plan.scenario.communication;
  request.chosen = plan.chosen;
  request.ladder = options.ladder;
  request.pairs = plan.pairs;
  request.rings = plan.rings;
  request.calibration = plan.calibration;
  request.series = {.iterations = options.iterations,
                    .warmup = options.warmup,
                    .budget = plan.pairs || plan.calibration ? kPairBudget : kBudget};
  request.timeout = plan.timeout;
  request.interrupted = &interrupted;
  return request;
}

// Between two meetings of the ranks some only fill or compare memory, and share a host doing so.
milliseconds meeting_deadline(const MeasurePlan& plan) {
  Bytes largest;
  for (const Bytes size : plan.scenario.workload.sizes) largest = std::max(largest, size);
  const double bytes = 4.0 * plan.ranks * static_cast<double>(largest.count);
  return std::chrono::duration_cast<milliseconds>(plan.timeout) +
         milliseconds(static_cast<std::int64_t>(bytes / kSlowestMemory * 1000));
}

// All ranks as threads of this process.
Measurement measure_threads(const MeasureOptions& options, const MeasurePlan& plan,
                            MeasuredAside& aside) {
  MeasureRequest request = request_of(options, plan, catch_interruption());
  ProgressBar progress(options.progress);
  ThreadGroup group(plan.ranks, meeting_deadline(plan));
  MemoryMeetingPlace place;
  Measurement result;
  const auto run_rank = [&](int rank) {
    ThreadExchange exchange(group, rank);
    RankMemorySetup setup(options, plan, rank, SlotAccess::kThisProcess);
    MemoryEndpointMaker endpoints(place, exchange, setup.copier());
    MeasureRequest mine = request;
    if (rank == 0) mine.progress = &progress;
    if (rank == 0) mine.pair_times = &aside.pairs;
    if (rank == 0) mine.ring_times = &aside.rings;
    if (rank == 0) mine.calibrated = &aside.calibration;
    MemoryEndpointMaker for_host(place, exchange);
    Measurement measured =
        measure(mine, {exchange, endpoints, setup.memory(), setup.host_side(for_host)});
    measured.notes.insert(measured.notes.end(), setup.notes().begin(), setup.notes().end());
    if (rank == 0) result = std::move(measured);
  };
  std::vector<std::thread> threads;
  if (!plan.host.empty()) aside.hosts = {plan.host};
  for (int rank = 1; rank < plan.ranks; ++rank) threads.emplace_back(run_rank, rank);
  run_rank(0);
  for (std::thread& thread : threads) thread.join();
  return result;
}

SocketAddress rendezvous_of(const MeasurePlan& plan) {
  // Rank 0 starts the others and tells them the port.
  if (plan.rendezvous.empty()) return {"127.0.0.1", 0};
  return rendezvous_address(plan.rendezvous);
}

// Where the scenario says at which socket threads run, whatever they serve. Those that this thread
// starts run there, too.
std::optional<ThreadPlace> place_at_socket(const ThreadPlacement& threads) {
  if (threads.at != ThreadPlacement::At::kOne) return std::nullopt;
  try {
    return ThreadPlacer(HostTree("/"), threads).place(nullptr);
  } catch (const ThreadPlaceError& error) {
    refuse("communication.thread_placement", error.what());
  }
}

// One rank of several processes.
class ProcessRank {
 public:
  ProcessRank(const MeasureOptions& options, const MeasurePlan& plan)
      : options_(options),
        plan_(plan),
        rdma_(rdma_settings(options.rdma, plan.rank, usual_settings(plan.scenario.communication))),
        interrupted_(catch_interruption()) {
    const bool mtu_given = rdma_.mtu.count > 0;
    if (!mtu_given) rdma_.mtu = plan.scenario.cluster.network.mtu;
    // A write that is stuck is told of, with its path, before the ranks give each other up.
    if (rdma_.deadline == VerbsSettings{}.deadline) {
      rdma_.deadline = std::chrono::duration_cast<milliseconds>(plan.timeout * 3 / 4);
    }
    placement_ = place(plan.scenario.cluster, plan.scenario.communication,
                       plan.scenario.workload.collective);
  }

  Measurement run(MeasuredAside& aside) {
    const std::unique_ptr<TcpExchange> exchange = meet();
    if (!plan_.host.empty()) aside.hosts = told_by_all(*exchange);
    MeasureRequest request = request_of(options_, plan_, interrupted_);
    request.pair_times = &aside.pairs;
    request.ring_times = &aside.rings;
    request.calibrated = &aside.calibration;
    std::optional<ProgressBar> progress;
    if (plan_.rank == 0) request.progress = &progress.emplace(options_.progress);
    const bool through_memory =
        options_.within_node == "memory" && plan_.scenario.cluster.ranks_per_node > 1;
    RankMemorySetup setup(options_, plan_, plan_.rank,
                          through_memory ? SlotAccess::kThisHost : SlotAccess::kThisProcess);
    std::unique_ptr<EndpointMaker> network = make_endpoints(*exchange);
    const std::unique_ptr<EndpointMaker> for_gpu = make_gpu_endpoints(setup.gpu(), *network);
    EndpointMaker& maker = for_gpu ? *for_gpu : *network;
    const std::unique_ptr<EndpointMaker> for_host = make_host_endpoints();
    NodeEndpointMaker endpoints(*exchange, maker, nodes_of_ranks(through_memory),
                                setup.device_slots());
    Measurement measured = measure(request, {*exchange, endpoints, setup.memory(),
                                             setup.host_side(for_host ? *for_host : *network)});
    measured.notes.insert(measured.notes.end(), endpoints.notes().begin(), endpoints.notes().end());
    if (const auto& away = exchange->sent_away(); !away.empty()) {
      measured.notes.push_back(
          fmt::format("sent away from the rendezvous: {}", fmt::join(away, "; ")));
    }
    if (setup.device_slots() != nullptr) wait_until_closed(*exchange, measured);
    progress.reset();
    tell_of_ports(*exchange, measured);
    if (children_) tell_of_children(measured);
    return measured;
  }

 private:
  std::unique_ptr<TcpExchange> meet() {
    const SocketAddress address = rendezvous_of(plan_);
    RendezvousSettings settings{.rank = plan_.rank, .ranks = plan_.ranks, .hopeless = {}};
    settings.join_deadline = std::chrono::duration_cast<milliseconds>(plan_.timeout);
    settings.deadline = meeting_deadline(plan_);
    settings.token = plan_.token;
    settings.hopeless = [this] { return no_hope(); };
    try {
      std::unique_ptr<TcpExchange> exchange =
          plan_.rank == 0 ? host(address, settings) : TcpExchange::join(address, settings);
      if (const auto difference = disagreement(*exchange, plan_.agreed)) {
        throw RanksDisagree(*difference + "; they have to be the same on all ranks");
      }
      return exchange;
    } catch (const ExchangeError& error) {
      throw RendezvousFailed(error.what());
    }
  }

  std::unique_ptr<TcpExchange> host(const SocketAddress& address,
                                    const RendezvousSettings& settings) {
    Socket listener = listen_at(address);
    if (plan_.start == RankStart::kThisProcess) {
      children_.emplace(options_.arguments, plan_.ranks, text_of(local_address(listener)),
                        settings.token);
    }
    return TcpExchange::host(std::move(listener), settings);
  }

  // Nobody gives GPU memory back while a peer has it open: each has let go of all, who comes here.
  static void wait_until_closed(Exchange& exchange, Measurement& measured) {
    if (!measured.failures.empty()) return;
    try {
      exchange.all_gather({});
    } catch (const ExchangeError& error) {
      measured.notes.emplace_back(error.what());
    }
  }

  // What each rank says; throws ExchangeError.
  static std::vector<std::string> told_of(Exchange& exchange, const std::string& own) {
    std::vector<std::string> all;
    for (const auto& one : exchange.all_gather(std::as_bytes(std::span(own)))) {
      all.push_back(text_of(one));
    }
    return all;
  }

  std::vector<std::string> told_by_all(Exchange& exchange) const {
    try {
      return told_of(exchange, plan_.host);
    } catch (const ExchangeError& error) {
      throw RendezvousFailed(error.what());
    }
  }

  std::unique_ptr<EndpointMaker> make_endpoints(TcpExchange& exchange) {
    if (options_.backend == "verbs") {
      auto made = std::make_unique<VerbsEndpointMaker>(
          exchange, rdma_, [this](const ConnectionEnd& end) { return nic_of(end); }, open_verbs,
          placer());
      verbs_ = made.get();
      return made;
    }
    return std::make_unique<TcpEndpointMaker>(
        exchange, exchange.local_host(), std::chrono::duration_cast<milliseconds>(plan_.timeout));
  }

  VerbsEndpointMaker::Placer placer() const {
    const ThreadPlacement& threads = plan_.scenario.communication.threads;
    if (!rdma_.pin_thread && threads.at == ThreadPlacement::At::kGpu) return {};
    auto placer = std::make_shared<ThreadPlacer>(HostTree("/"), threads);
    return [placer](const ServedDevice& device) { return placer->place(&device); };
  }

  // Over those of the network; nothing where the host has the data.
  std::unique_ptr<EndpointMaker> make_gpu_endpoints(RankGpu* gpu, EndpointMaker& network) const {
    if (gpu == nullptr) return nullptr;
    const auto device = [gpu]() -> const CudaDevice& { return gpu->device(); };
    if (verbs_ != nullptr) return std::make_unique<GpuVerbsEndpointMaker>(*verbs_, device);
    return std::make_unique<StagedEndpointMaker>(network, device, "sockets take host memory alone");
  }

  // Of host memory beside a GPU's; nothing: those of the network as they are.
  std::unique_ptr<EndpointMaker> make_host_endpoints() const {
    if (verbs_ == nullptr) return nullptr;
    return std::make_unique<HostVerbsEndpointMaker>(*verbs_);
  }

  // Where they share no memory each is as good as alone.
  std::vector<int> nodes_of_ranks(bool shared) const {
    std::vector<int> nodes;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      nodes.push_back(shared ? rank / plan_.scenario.cluster.ranks_per_node : rank);
    }
    return nodes;
  }

  // Within a node, too, where that goes over the network: by the channel's NIC.
  int nic_of(const ConnectionEnd& end) const {
    const Hop hop = hop_between(placement_, plan_.scenario.cluster, end.key.channel, end.key.source,
                                end.key.destination);
    const int nic = end.sends ? hop.source_nic : hop.destination_nic;
    return nic >= 0 ? nic : end.key.channel;
  }

  // What all ranks' RDMA ports counted of retransmissions and other trouble.
  void tell_of_ports(Exchange& exchange, Measurement& measured) const {
    if (verbs_ == nullptr) return;
    if (const std::string flush = verbs_->flush_note(); !flush.empty()) {
      measured.notes.push_back(flush);
    }
    std::string own;
    for (const auto& [name, count] : verbs_->troubles()) {
      own += fmt::format("{}{} {}", own.empty() ? "" : ", ", name, count);
    }
    const auto tell = [&](std::size_t rank, const std::string& text) {
      if (!text.empty()) measured.notes.push_back(fmt::format("rank {} counted {}", rank, text));
    };
    const std::string notes = fmt::format("{}", fmt::join(verbs_->notes(), "\n"));
    const auto tell_notes = [&](const std::vector<std::string>& texts) {
      const std::vector<std::string> told = notes_of_ranks(texts);
      measured.notes.insert(measured.notes.end(), told.begin(), told.end());
    };
    if (!measured.failures.empty()) {
      tell_notes({notes});
      return tell(static_cast<std::size_t>(plan_.rank), own);
    }
    try {
      tell_notes(told_of(exchange, notes));
      const std::vector<std::string> all = told_of(exchange, own);
      for (std::size_t rank = 0; rank < all.size(); ++rank) tell(rank, all[rank]);
      const std::string counted = counted_text(verbs_->counted());
      measured.counters = counters_of_ranks(told_of(exchange, counted), nodes_of_ranks(true));
    } catch (const ExchangeError& error) {
      measured.notes.emplace_back(error.what());
    }
  }

  std::optional<std::string> no_hope() {
    if (interrupted_) return "interrupted before all ranks had come";
    return children_ ? children_->first_bad_end() : std::nullopt;
  }

  // How they ended, where that says more than what the others saw of it.
  void tell_of_children(Measurement& measured) {
    if (measured.failures.empty()) {
      children_->wait(5s);
      return;
    }
    // Its connections close before a process has ended.
    children_->wait(2s);
    const auto bad_end = children_->first_bad_end();
    if (bad_end && bad_end->find("signal") != std::string::npos) {
      put_cause_first(*bad_end, measured.failures);
    }
  }

  const MeasureOptions& options_;
  const MeasurePlan& plan_;
  VerbsSettings rdma_;
  Placement placement_;
  VerbsEndpointMaker* verbs_ = nullptr;
  const std::atomic<bool>& interrupted_;
  std::optional<RankProcesses> children_;
};

// Of this process and, where it started them, of the other ranks.
RunCost cost_since(std::chrono::steady_clock::time_point start) {
  RunCost cost;
  cost.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      cost.cpu_s += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
    cost.peak_rss_bytes = std::max<std::int64_t>(cost.peak_rss_bytes, usage.ru_maxrss * 1024);
  }
  return cost;
}

}  // namespace

Measurement measure_with_backend(const MeasureOptions& options, const MeasurePlan& plan,
                                 MeasuredAside& aside) {
  const auto known = std::find(kBackends.begin(), kBackends.end(), options.backend);
  if (known == kBackends.end()) refuse_backend(options.backend);
  require_gpu(options, plan);
  const auto place = place_at_socket(plan.scenario.communication.threads);
  const auto start = std::chrono::steady_clock::now();
  Measurement measured = options.backend == "loopback" ? measure_threads(options, plan, aside)
                                                       : ProcessRank(options, plan).run(aside);
  if (place) measured.notes.push_back("threads run on " + text_of(*place));
  measured.backend = options.backend;
  measured.cost = cost_since(start);
  return measured;
}

int guarded_ranks(const MeasureOptions& options, const std::function<int()>& command) {
  try {
    return command();
  } catch (const RanksDisagree& error) {
    if (!options.started_by_measure) complain(error.what());
    return kBadInput;
  } catch (const RankMemoryError& error) {
    complain(fmt::format("the run failed: --memory {}: {}", options.memory, error.what()));
    return kRunFailed;
  } catch (const RendezvousFailed& error) {
    if (!options.started_by_measure) complain(fmt::format("the run failed: {}", error.what()));
    return kRunFailed;
  }
}

}  // namespace gradhaul
