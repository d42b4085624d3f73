#include "sim/job_prediction.h"

#include <algorithm>
#include <utility>

#include "sim/link_digest.h"
#include "sim/prediction_row.h"
#include "sim/run_cost.h"
#include "sim/task_prediction.h"

namespace gradhaul {
namespace {

// With more, each against all others takes too long.
constexpr std::size_t kMostParties = 8;

// Several runs told as one.
class RunOfSeveral final : public ProgressSink {
 public:
  RunOfSeveral(ProgressSink* all, int runs) : all_(all), runs_(runs) {}
  void next() { ++run_; }
  void on_progress(double done, Bytes row) override {
    if (all_ == nullptr) return;
    all_->on_progress((run_ + std::clamp(done, 0.0, 1.0)) / std::max(runs_, run_ + 1), row);
  }

 private:
  ProgressSink* all_;
  int run_ = 0;
  int runs_;
};

std::string name_of_gpu(const Cluster& cluster, int gpu) {
  return "node" + std::to_string(gpu / cluster.node.gpu_count) + ".gpu" +
         std::to_string(gpu % cluster.node.gpu_count);
}

class JobRuns {
 public:
  explicit JobRuns(const PredictionRequest& request)
      : request_(request), progress_(request.progress, run_count(request)) {
    request_.progress = &progress_;
    prediction_.fidelity = "packet";
    prediction_.seed = request.seed;
  }

  Prediction predict() {
    const RunCostMeter meter;
    if (request_.jobs.empty()) {
      for (const Bytes size : request_.workload.sizes) {
        if (!add_rows({job_of_all(size)})) break;
      }
    } else {
      add_rows(request_.jobs);
    }
    if (!prediction_.interrupted && prediction_.failure.empty()) add_company();
    prediction_.digest = digest_.value();
    prediction_.notes.push_back(
        "Jobs and background traffic are simulated packet by packet: neither symmetry nor "
        "recurrence is looked for.");
    meter.measure(prediction_.cost);
    return std::move(prediction_);
  }

 private:
  static std::size_t parties(const PredictionRequest& request) {
    return std::max<std::size_t>(1, request.jobs.size()) + request.background.size();
  }
  static bool tries_all_but_one(const PredictionRequest& request) {
    return parties(request) > 2 && parties(request) <= kMostParties;
  }
  static int run_count(const PredictionRequest& request) {
    const std::size_t sizes = request.jobs.empty() ? request.workload.sizes.size() : 1;
    const std::size_t alone = std::max<std::size_t>(1, request.jobs.size());
    const std::size_t without = tries_all_but_one(request) ? parties(request) : 0;
    return static_cast<int>(sizes + alone + without);
  }

  Job job_of_all(Bytes size) const {
    Job job;
    for (Rank rank = 0; rank < request_.cluster.ranks(); ++rank) {
      job.gpus.push_back(request_.cluster.gpu_of(rank));
    }
    job.workload = request_.workload;
    job.workload.sizes = {whole_elements(request_, size)};
    job.communication = request_.communication;
    return job;
  }

  TaskGraphResult run(const std::vector<Job>& jobs,
                      const std::vector<BackgroundTraffic>& background) {
    TaskGraph graph;
    for (const Job& job : jobs) {
      Task task;
      task.name = job.name;
      task.communicator = static_cast<int>(graph.communicators.size());
      task.collective = job.workload.collective;
      task.datatype = job.workload.datatype;
      task.reduction = job.workload.reduction;
      task.size = job.workload.sizes.front();
      task.at = job.start;
      graph.tasks.push_back(std::move(task));
      graph.communicators.push_back({job.name, job.gpus, job.communication});
    }
    graph.background = background;
    TaskGraphResult result = predict_tasks(request_, graph);
    progress_.next();
    prediction_.interrupted = prediction_.interrupted || result.interrupted;
    prediction_.cost.packets += result.cost.packets;
    prediction_.cost.packet_hops += result.cost.packet_hops;
    return result;
  }

  // False where it was interrupted, or failed: whoever was finished by then has a row.
  bool add_rows(const std::vector<Job>& jobs) {
    try {
      return add_finished(jobs, run(jobs, request_.background));
    } catch (const TasksFailed& failed) {
      prediction_.failure = failed.what();
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (failed.finished()[i]) add_row(*failed.finished()[i], jobs[i]);
      }
      return false;
    }
  }

  void add_row(ResultRow row, const Job& job) {
    row.job = job.name;
    prediction_.channels = std::max(prediction_.channels, row.channels);
    prediction_.rows.push_back(std::move(row));
  }

  bool add_finished(const std::vector<Job>& jobs, TaskGraphResult result) {
    if (result.interrupted) return false;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      add_row(std::move(result.tasks[i].row), jobs[i]);
    }
    prediction_.resources = std::move(result.resources);
    prediction_.counters = std::move(result.counters);
    for (std::string& note : result.notes) {
      const auto& notes = prediction_.notes;
      if (std::find(notes.begin(), notes.end(), note) != notes.end()) continue;
      prediction_.notes.push_back(std::move(note));
    }
    digest_.add(result.digest);
    jobs_ = jobs;
    company_.shared_links = std::move(result.shared_links);
    company_.background = std::move(result.background);
    return true;
  }

  // The rows are there; what is asked now may be given up.
  void add_company() {
    for (const Job& job : jobs_) company_.parties.push_back(job.name.empty() ? "job" : job.name);
    for (const BackgroundTraffic& traffic : request_.background) {
      company_.parties.push_back(traffic.name);
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) add_job_alone(i);
    if (tries_all_but_one(request_)) {
      for (std::size_t party = 0; party < company_.parties.size(); ++party) add_without(party);
    } else if (company_.parties.size() > kMostParties) {
      prediction_.notes.push_back("With more than " + std::to_string(kMostParties) +
                                  " jobs and background traffics it is not asked what each of "
                                  "them costs each other.");
    }
    if (prediction_.interrupted) {
      prediction_.notes.push_back("Interrupted before all jobs had been run without the others.");
      return;
    }
    prediction_.company = std::move(company_);
  }

  void add_job_alone(std::size_t i) {
    if (prediction_.interrupted) return;
    const ResultRow& row = prediction_.rows[prediction_.rows.size() - jobs_.size() + i];
    JobCompany& job = company_.jobs.emplace_back();
    job.job = company_.parties[i];
    for (const int gpu : jobs_[i].gpus) job.gpus.push_back(name_of_gpu(request_.cluster, gpu));
    job.start = jobs_[i].start;
    job.time = row.time;
    const TaskGraphResult result = run({jobs_[i]}, {});
    if (result.interrupted) return;
    job.alone = result.tasks[0].row.time;
    job.alone_parts = result.tasks[0].row.parts;
  }

  void add_without(std::size_t party) {
    if (prediction_.interrupted) return;
    std::vector<Job> jobs = jobs_;
    std::vector<BackgroundTraffic> background = request_.background;
    if (party < jobs.size()) {
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(party));
    } else {
      background.erase(background.begin() + static_cast<std::ptrdiff_t>(party - jobs.size()));
    }
    if (jobs.empty()) return;
    const TaskGraphResult result = run(jobs, background);
    if (result.interrupted) return;
    std::size_t left = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (i == party) continue;
      JobCompany& job = company_.jobs[i];
      job.saved_without.emplace_back(company_.parties[party],
                                     job.time - result.tasks[left++].row.time);
    }
  }

  PredictionRequest request_;
  RunOfSeveral progress_;
  Prediction prediction_;
  Company company_;
  std::vector<Job> jobs_;  // of the last rows
  RunDigest digest_;
};

}  // namespace

Prediction predict_jobs(const PredictionRequest& request) { return JobRuns(request).predict(); }

}  // namespace gradhaul
