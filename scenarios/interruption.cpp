#include "scenarios/interruption.h"

#include <csignal>

namespace gradhaul {
namespace {

// A signal handler can reach nothing but what is global.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait for a lock");

extern "C" void note_interruption(int) { interrupted = true; }

}  // namespace

const std::atomic<bool>& catch_interruption() {
  struct sigaction action = {};
  action.sa_handler = note_interruption;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return interrupted;
}

}  // namespace gradhaul
