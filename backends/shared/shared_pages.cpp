#include "backends/shared/shared_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>
#include <utility>

namespace gradhaul {
namespace {

std::span<std::byte> map(int file, std::size_t size) {
  void* const pages =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (pages == MAP_FAILED) return {};
  // Fewer misses of the TLB where the system has large pages to give; no matter where not.
  madvise(pages, size, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(pages), size};
}

}  // namespace

SharedPages::SharedPages(Bytes size) {
  if (size.count == 0) return;
  file_ = memfd_create("gradhaul", MFD_CLOEXEC);
  if (file_ < 0) throw std::bad_alloc();
  if (ftruncate(file_, size.count) == 0) bytes_ = map(file_, static_cast<std::size_t>(size.count));
  if (!bytes_.empty()) return;
  close(file_);
  throw std::bad_alloc();
}

std::optional<SharedPages> SharedPages::of_process(pid_t process, int file, Bytes size) {
  std::string path = "/proc/";
  path.append(std::to_string(process)).append("/fd/").append(std::to_string(file));
  SharedPages pages;
  pages.file_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (pages.file_ < 0) return std::nullopt;
  // What is read beyond the end of a file kills.
  struct stat status {};
  if (fstat(pages.file_, &status) != 0 || status.st_size != size.count) {
    errno = ESTALE;
    return std::nullopt;
  }
  pages.bytes_ = map(pages.file_, static_cast<std::size_t>(size.count));
  if (pages.bytes_.empty()) return std::nullopt;
  return pages;
}

SharedPages::~SharedPages() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  if (file_ >= 0) close(file_);
}

SharedPages::SharedPages(SharedPages&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), file_(std::exchange(other.file_, -1)) {}

SharedPages& SharedPages::operator=(SharedPages&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(file_, other.file_);
  return *this;
}

}  // namespace gradhaul
