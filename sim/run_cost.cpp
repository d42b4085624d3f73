#include "sim/run_cost.h"

#include <sys/resource.h>

#include <ctime>
#include <fstream>
#include <string>

namespace gradhaul {
namespace {

std::int64_t nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

RunCostMeter::RunCostMeter()
    : wall_ns_(nanoseconds(CLOCK_MONOTONIC)), cpu_ns_(nanoseconds(CLOCK_PROCESS_CPUTIME_ID)) {}

void RunCostMeter::measure(RunCost& cost) const {
  cost.wall_s = wall_seconds();
  cost.cpu_s = cpu_seconds();
  cost.peak_rss_bytes = peak_rss_bytes();
}

double RunCostMeter::wall_seconds() const {
  return static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - wall_ns_) * 1e-9;
}

double RunCostMeter::cpu_seconds() const {
  return static_cast<double>(nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns_) * 1e-9;
}

// What getrusage() says includes the memory of whoever started the program, up to that moment.
std::int64_t RunCostMeter::peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace gradhaul
