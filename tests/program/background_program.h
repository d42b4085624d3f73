#pragma once

// The real program, running while a test does other things.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/program/run_program.h"

namespace gradhaul {

class BackgroundProgram {
 public:
  // `name` tells its files from those of others of the same test.
  BackgroundProgram(const std::string& name, const std::vector<std::string>& arguments)
      : BackgroundProgram(name, GRADHAUL_PROGRAM, arguments) {}
  // Another program, such as a launcher, found by the shell's rules.
  BackgroundProgram(const std::string& name, const std::string& program,
                    const std::vector<std::string>& arguments)
      : out_(temporary_file(name + ".out")), err_(temporary_file(name + ".err")) {
    write_text(out_, "");
    write_text(err_, "");
    process_ = fork();
    if (process_ != 0) return;
    dup2(open(out_.c_str(), O_WRONLY), STDOUT_FILENO);
    dup2(open(err_.c_str(), O_WRONLY), STDERR_FILENO);
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    execvp(program.c_str(), argv.data());
    _exit(127);
  }
  ~BackgroundProgram() {
    if (process_ <= 0) return;
    kill(process_, SIGCONT);
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  BackgroundProgram(const BackgroundProgram&) = delete;
  BackgroundProgram& operator=(const BackgroundProgram&) = delete;

  pid_t process() const { return process_; }
  void wait_until_it_says(const std::string& text) const { wait_until_said(err_, text); }
  std::vector<pid_t> children() const {
    const std::string process = std::to_string(process_);
    std::ifstream list("/proc/" + process + "/task/" + process + "/children");
    std::vector<pid_t> children;
    for (pid_t child = 0; list >> child;) children.push_back(child);
    return children;
  }
  ProgramRun end() {
    int status = 0;
    waitpid(std::exchange(process_, -1), &status, 0);
    ProgramRun run;
    run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    run.out = text_of(out_);
    run.err = text_of(err_);
    return run;
  }

 private:
  std::string out_;
  std::string err_;
  pid_t process_ = 0;
};

}  // namespace gradhaul
