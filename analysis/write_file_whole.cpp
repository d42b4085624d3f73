#include "analysis/write_file_whole.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

namespace gradhaul {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as many as Linux follows

// errno is read before anything else can change it.
[[noreturn]] void fail(const std::string& path, std::string_view what) {
  const std::error_code error(errno, std::generic_category());
  throw FileError(fmt::format("{}: {}: {}", path, what, error.message()));
}

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  // Some file systems report a failed write only here.
  bool close() {
    const int number = number_;
    number_ = -1;
    return ::close(number) == 0;
  }

 private:
  int number_;
};

// A temporary file that is gone unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  bool rename_to(const std::string& target) {
    if (std::rename(path_.c_str(), target.c_str()) != 0) return false;
    path_.clear();
    return true;
  }

 private:
  std::string path_;
};

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

struct Target {
  std::string path;            // with symbolic links followed
  std::optional<mode_t> mode;  // of the file that is there
  bool regular = true;         // a regular file, or nothing yet
};

Target target_of(const std::string& path) {
  Target target{path, std::nullopt, true};
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail(path, "cannot be written");
    // A link whose target is not there yet: the target is what is to be made.
    std::error_code error;
    for (int links = 0; fs::is_symlink(target.path, error) && links < kMaxLinks; ++links) {
      target.path = (fs::path(target.path).parent_path() / fs::read_symlink(target.path)).string();
    }
    return target;
  }
  if (S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    fail(path, "cannot be written");
  }
  target.regular = S_ISREG(status.st_mode);
  target.mode = status.st_mode & 07777;
  // A rename would replace a file that its owner has locked.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) fail(path, "cannot be written");
  if (target.regular) target.path = fs::canonical(path).string();
  return target;
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string temporary_name(const std::string& path) {
  const fs::path name = fs::path(path).filename();
  return (fs::path(folder_of(path)) / fmt::format(".{}.{}.tmp", name.string(), ::getpid()))
      .string();
}

// A descriptor of a new file beside the target, with the mode that a new file gets.
int create(const std::string& path, const std::string& temporary) {
  const int descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) fail(path, "cannot be written, no file can be made beside it");
  return descriptor;
}

}  // namespace

class WholeFile::Implementation {
 public:
  explicit Implementation(const std::string& path)
      : path_(path),
        target_(target_of(path)),
        temporary_(target_.regular ? temporary_name(target_.path) : ""),
        descriptor_(target_.regular ? create(path, temporary_.path())
                                    : ::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (descriptor_.number() < 0) fail(path, "cannot be opened");
    if (target_.regular && target_.mode && ::fchmod(descriptor_.number(), *target_.mode) != 0) {
      fail(path, "its mode cannot be kept");
    }
  }
  void write(std::string_view content) {
    if (!write_all(descriptor_.number(), content)) fail(path_, "cannot be written");
  }
  void commit() {
    if (!target_.regular) {
      if (!descriptor_.close()) fail(path_, "cannot be written");
      return;
    }
    if (::fsync(descriptor_.number()) != 0 || !descriptor_.close()) {
      fail(path_, "cannot be flushed");
    }
    if (!temporary_.rename_to(target_.path)) fail(path_, "cannot be replaced");
    // The new name outlives a power cut only once its folder is flushed; that some file systems
    // cannot do so is no failure of the write.
    const Descriptor folder(::open(folder_of(target_.path).c_str(), O_RDONLY | O_DIRECTORY));
    if (folder.number() >= 0) ::fsync(folder.number());
  }

 private:
  std::string path_;
  Target target_;
  TemporaryFile temporary_;
  Descriptor descriptor_;
};

WholeFile::WholeFile(const std::string& path)
    : implementation_(std::make_unique<Implementation>(path)) {}
WholeFile::~WholeFile() = default;
WholeFile::WholeFile(WholeFile&& other) noexcept = default;
WholeFile& WholeFile::operator=(WholeFile&& other) noexcept = default;
void WholeFile::write(std::string_view content) { implementation_->write(content); }
void WholeFile::commit() { implementation_->commit(); }

void write_file_whole(const std::string& path, std::string_view content) {
  WholeFile file(path);
  file.write(content);
  file.commit();
}

void require_writable(const std::string& path) {
  const Target target = target_of(path);
  if (!target.regular) return;
  const std::string name = temporary_name(target.path);
  const Descriptor descriptor(create(path, name));
  const TemporaryFile temporary(name);
}

}  // namespace gradhaul
