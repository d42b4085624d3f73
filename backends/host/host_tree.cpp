#include "backends/host/host_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <system_error>

namespace gradhaul {
namespace {

constexpr std::size_t kMostNames = 4096;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r';
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits compare as numbers: "state2" < "state10", also without an end to their length.
bool in_natural_order(const std::string& left, const std::string& right) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() && j < right.size()) {
    if (!is_digit(left[i]) || !is_digit(right[j])) {
      if (left[i] != right[j]) return left[i] < right[j];
      ++i, ++j;
      continue;
    }
    std::size_t i_end = i;
    std::size_t j_end = j;
    while (i_end < left.size() && is_digit(left[i_end])) ++i_end;
    while (j_end < right.size() && is_digit(right[j_end])) ++j_end;
    while (i + 1 < i_end && left[i] == '0') ++i;
    while (j + 1 < j_end && right[j] == '0') ++j;
    if (i_end - i != j_end - j) return i_end - i < j_end - j;
    const int order = left.compare(i, i_end - i, right, j, j_end - j);
    if (order != 0) return order < 0;
    i = i_end;
    j = j_end;
  }
  if (left.size() - i != right.size() - j) return left.size() - i < right.size() - j;
  return left < right;
}

class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Neither a pipe nor a device of a hostile tree may keep us waiting.
constexpr int kReading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// Opens a path of the tree; absolute symbolic links and ".." stay below its root. A descriptor, or
// -1 and errno.
int open_inside(int root, const std::string& path) {
  open_how how{};
  how.flags = static_cast<unsigned>(kReading);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
}

ReadStatus status_of_error(int error) {
  if (error == ENOENT || error == ENOTDIR || error == ENODEV || error == ENXIO) {
    return ReadStatus::kAbsent;
  }
  return error == EACCES || error == EPERM ? ReadStatus::kDenied : ReadStatus::kUseless;
}

}  // namespace

std::string reason_of(ReadStatus status) {
  switch (status) {
    case ReadStatus::kRead:
      return "its content means nothing here";
    case ReadStatus::kAbsent:
      return "no such file";
    case ReadStatus::kDenied:
      return "permission denied";
    case ReadStatus::kUseless:
      return "not readable as text";
  }
  return "";
}

HostTree::HostTree(const std::filesystem::path& root) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(root, error);
  root_ = error ? root.string() : canonical.string();
  while (root_.ends_with('/')) root_.pop_back();
}

std::string HostTree::resolved(const std::string& path) const {
  std::error_code error;
  const std::string found = std::filesystem::canonical(root_ + path, error).string();
  if (error || !found.starts_with(root_ + "/") || !is_printable(found)) return "";
  return found.substr(root_.size());
}

bool HostTree::exists(const std::string& path) const { return !resolved(path).empty(); }

int HostTree::open_file(const std::string& path) const {
  if (is_running_host()) return open(path.c_str(), kReading);
  const OpenFile root(open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.descriptor() < 0) return -1;
  const int found = open_inside(root.descriptor(), path);
  if (found >= 0 || (errno != ENOSYS && errno != EPERM)) return found;
  // A kernel before 5.6, or a container that forbids it.
  const std::string inside = resolved(path);
  if (inside.empty()) {
    errno = ENOENT;
    return -1;
  }
  return open((root_ + inside).c_str(), kReading);
}

FileText HostTree::read_bytes(const std::string& path, std::size_t most) const {
  const OpenFile file(open_file(path));
  if (file.descriptor() < 0) return {status_of_error(errno), ""};
  struct stat facts {};
  if (fstat(file.descriptor(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return {ReadStatus::kUseless, ""};
  }
  std::string text(most, '\0');
  std::size_t got = 0;
  while (got < most) {
    const ssize_t more = ::read(file.descriptor(), text.data() + got, most - got);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return {status_of_error(errno), ""};
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
  }
  text.resize(got);
  return {ReadStatus::kRead, std::move(text)};
}

FileText HostTree::read(const std::string& path, std::size_t longest) const {
  FileText found = read_bytes(path, longest + 1);
  if (!found.read()) return found;
  if (found.text.size() > longest || !is_printable(found.text)) {
    return {ReadStatus::kUseless, ""};
  }
  found.text = std::string(trimmed(found.text));
  return found;
}

std::optional<std::int64_t> HostTree::number(const std::string& path) const {
  const FileText found = read(path);
  return found.read() ? whole_number(found.text) : std::nullopt;
}

std::vector<std::string> HostTree::list(const std::string& folder) const {
  std::vector<std::string> names;
  const std::string inside = resolved(folder);
  if (inside.empty()) return names;
  std::error_code error;
  std::filesystem::directory_iterator entry(root_ + inside, error);
  for (; !error && entry != std::filesystem::directory_iterator() && names.size() < kMostNames;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (is_printable(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end(), in_natural_order);
  return names;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> leading_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_blank(text[end])) ++end;
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

}  // namespace gradhaul
