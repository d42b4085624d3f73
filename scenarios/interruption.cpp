#include "scenarios/interruption.h"

#include <pthread.h>

#include <csignal>
#include <thread>

namespace gradhaul {
namespace {

std::atomic<bool> interrupted{false};

// A thread waits for the signals, which are blocked everywhere else: a library that installs
// handlers of its own (SimGrid does, for SIGINT) then takes nothing away.
void wait_for_signals(sigset_t signals) {
  int signal = 0;
  if (sigwait(&signals, &signal) != 0) return;
  interrupted = true;
  if (sigwait(&signals, &signal) != 0) return;
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  std::raise(signal);
}

}  // namespace

const std::atomic<bool>& catch_interruption() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Lives as long as the program does.
  std::thread(wait_for_signals, signals).detach();
  return interrupted;
}

}  // namespace gradhaul
