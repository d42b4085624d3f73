#pragma once

// The journal of a sweep: a file beside its output, to which each finished point is appended at
// once, so that a sweep that was cut off goes on where it stopped. Each line is
// the hash of what was run and what came out of it; who asks for the same again finds it.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace gradhaul {

class SweepJournal {
 public:
  // Opens the file or makes it, reads what it has, and keeps others out until the end. A last line
  // that was cut off is dropped. Throws std::runtime_error: it cannot be written, is no journal, or
  // another sweep writes it.
  explicit SweepJournal(const std::string& path);
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  const std::string& path() const { return path_; }
  // What was kept: outcomes by key.
  const std::map<std::string, std::string>& kept() const { return kept_; }
  // One line, written before it returns. Neither holds a line end; `key` holds no space. Throws
  // std::runtime_error.
  void append(std::string_view key, std::string_view outcome);
  // The sweep is whole, and its output written.
  void remove();

 private:
  void read();

  std::string path_;
  int descriptor_ = -1;
  std::map<std::string, std::string> kept_;
};

}  // namespace gradhaul
