#pragma once

// The files in which Linux tells about a machine, /sys and /proc, read from the running host or
// from a copy of them below some folder. Files are named as the machine names them
// ("/sys/class/net"); nothing outside the root is ever read, whatever symbolic links say. A copy
// may have been written by anybody: everything read is bounded, and what is no printable ASCII
// counts as unreadable.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradhaul {

enum class ReadStatus : std::uint8_t {
  kRead,
  kAbsent,   // there is no such file
  kDenied,   // only another user may read it
  kUseless,  // an I/O error, no regular file, too long, or no text where text is meant
};

struct FileText {
  ReadStatus status = ReadStatus::kAbsent;
  std::string text;
  bool read() const { return status == ReadStatus::kRead; }
};

// "no such file", "permission denied", "not readable as text".
std::string reason_of(ReadStatus status);

class HostTree {
 public:
  // "/" for the running host.
  explicit HostTree(const std::filesystem::path& root);

  const std::string& root() const { return root_; }
  bool is_running_host() const { return root_.empty(); }

  // A text file without the white space around it; a longer one is useless.
  FileText read(const std::string& path, std::size_t longest = 64 * 1024) const;
  // At most `most` bytes, whatever they are.
  FileText read_bytes(const std::string& path, std::size_t most) const;
  // The same, the whole content being one number: decimal, or hexadecimal after 0x.
  std::optional<std::int64_t> number(const std::string& path) const;
  // Names in a folder, in the order of their numbers (state2 before state10); at most 4096.
  std::vector<std::string> list(const std::string& folder) const;
  bool exists(const std::string& path) const;
  // The path with every symbolic link followed; empty where there is none, or it leads outside.
  std::string resolved(const std::string& path) const;

 private:
  // A descriptor to read from, or -1 and errno.
  int open_file(const std::string& path) const;

  std::string root_;  // canonical, without a slash at the end
};

// The whole text as a number, as HostTree::number.
std::optional<std::int64_t> whole_number(std::string_view text);
// The number at the start of a text, as the 16 of "16.0 GT/s PCIe".
std::optional<double> leading_number(std::string_view text);
std::vector<std::string> words_of(std::string_view text);
std::vector<std::string> lines_of(std::string_view text);
// The last part of a path.
std::string last_part(std::string_view path);

}  // namespace gradhaul
