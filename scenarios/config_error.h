#pragma once

// Bad input is reported, all of it in one go: readers collect what is wrong and where, go on with a
// default in its place, and a ConfigError carries everything out at the end.

#include <stdexcept>
#include <string>
#include <vector>

namespace gradhaul {

// Where a value was written.
struct Location {
  std::string source;  // the file as it was named, or an option: "--set workload.size=1GiB"
  int line = 0;        // from 1; 0: an option, or the file as a whole
  int column = 0;      // from 1, in characters

  bool option() const { return line == 0; }
  // "FILE:LINE:COLUMN", or the option, or the file.
  std::string text() const;
};

struct Problem {
  Location location;
  std::string message;
  // "FILE:LINE:COLUMN: message"
  std::string text() const;
};

class Problems {
 public:
  // Long messages lose their middle.
  void add(const Location& location, const std::string& message);
  bool empty() const { return problems_.empty(); }
  std::size_t size() const { return problems_.size(); }
  // By file in the order in which the files came up, then by line and column; the same problem at
  // the same place once.
  std::vector<Problem> sorted() const;

 private:
  std::vector<Problem> problems_;
};

class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  // what(): one line each.
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// The problems of `settings` (PATH=VALUE), which were read as --set, told at the option that a user
// gave them by: "--vary", "--against".
std::vector<Problem> told_at(std::vector<Problem> problems,
                             const std::vector<std::string>& settings, const std::string& option);

// Throws the one thing that is wrong: with an option, or with a file as a whole.
[[noreturn]] void refuse(const std::string& source, const std::string& why);

}  // namespace gradhaul
