#include "scenarios/sweep_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace gradhaul {
namespace {

constexpr std::string_view kHead = "gradhaul.sweep-journal/1\n";

[[noreturn]] void fail(const std::string& path, std::string_view what) {
  throw std::runtime_error(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

void write_all(int descriptor, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "cannot be written");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_all(int descriptor, const std::string& path) {
  std::string text;
  std::array<char, 64 * 1024> buffer{};
  while (true) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "cannot be read");
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

SweepJournal::SweepJournal(const std::string& path) : path_(path) {
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(path, "cannot be written");
  try {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        throw std::runtime_error(path + ": another sweep is writing it");
      }
      fail(path, "cannot be locked");
    }
    read();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

SweepJournal::~SweepJournal() { close(descriptor_); }

void SweepJournal::read() {
  const std::string text = read_all(descriptor_, path_);
  if (kHead.starts_with(text)) {  // new, or cut off as it began
    write_all(descriptor_, kHead.substr(text.size()), path_);
    return;
  }
  if (!text.starts_with(kHead)) {
    throw std::runtime_error(path_ +
                             ": the finished points of the sweep are to be kept there, and it is "
                             "another file; move it, or name another output");
  }
  const std::size_t whole = text.rfind('\n') + 1;
  if (whole < text.size() && ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) {
    fail(path_, "cannot be cut");
  }
  for (std::size_t at = kHead.size(); at < whole;) {
    const std::size_t end = text.find('\n', at);
    const std::size_t space = text.find(' ', at);
    if (space < end) kept_[text.substr(at, space - at)] = text.substr(space + 1, end - space - 1);
    at = end + 1;
  }
}

void SweepJournal::append(std::string_view key, std::string_view outcome) {
  write_all(descriptor_, fmt::format("{} {}\n", key, outcome), path_);
}

void SweepJournal::remove() { unlink(path_.c_str()); }

}  // namespace gradhaul
