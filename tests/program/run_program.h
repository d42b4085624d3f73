#pragma once

// Runs the real program, as a user would, and keeps what it said.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "tests/scenarios/reading.h"

namespace gradhaul {

struct ProgramRun {
  int status = -1;  // the exit status; 128 + the signal that ended it
  std::string out;
  std::string err;
};

struct ProgramOptions {
  std::string out = {};  // where standard output goes; empty: kept
  // A signal to send as soon as standard error holds this; 0: none.
  int signal = 0;
  std::string once_said = {};
};

// Until a file holds the text, or the patience of a minute or two is over.
inline void wait_until_said(const std::string& path, const std::string& text) {
  using namespace std::chrono_literals;
  for (int i = 0; i < 5000 && text_of(path).find(text) == std::string::npos; ++i) {
    std::this_thread::sleep_for(20ms);
  }
}

inline ProgramRun run_program(const std::vector<std::string>& arguments,
                              const ProgramOptions& options = {}) {
  const std::string out = options.out.empty() ? temporary_file("stdout") : options.out;
  const std::string err = temporary_file("stderr");
  write_text(err, "");
  const pid_t child = fork();
  if (child == 0) {
    const int to_out = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int to_err = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(to_out, STDOUT_FILENO);
    dup2(to_err, STDERR_FILENO);
    std::vector<char*> argv{const_cast<char*>(GRADHAUL_PROGRAM)};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    execv(GRADHAUL_PROGRAM, argv.data());
    _exit(127);
  }
  if (options.signal != 0) {
    wait_until_said(err, options.once_said);
    kill(child, options.signal);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ProgramRun run;
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (options.out.empty()) run.out = text_of(out);
  run.err = text_of(err);
  return run;
}

}  // namespace gradhaul
