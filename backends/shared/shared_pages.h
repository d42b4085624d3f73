#pragma once

// Memory that several processes of a host see. It has no name, and so leaves nothing behind however
// a process ends: whoever made it tells its process number and that of the file; who wants it opens
// this file of that process (Linux, memfd_create(2) and /proc/PID/fd; the same user has the right).

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>

#include "core/quantities.h"

namespace gradhaul {

class SharedPages {
 public:
  SharedPages() = default;
  // Zero until they are touched, and cost nothing until then. Throws std::bad_alloc.
  explicit SharedPages(Bytes size);
  // Those of another process, or of this one. Nothing where they can't be had: errno says why.
  static std::optional<SharedPages> of_process(pid_t process, int file, Bytes size);
  ~SharedPages();
  SharedPages(SharedPages&& other) noexcept;
  SharedPages& operator=(SharedPages&& other) noexcept;

  std::span<std::byte> bytes() const { return bytes_; }
  int file() const { return file_; }  // -1: none

 private:
  std::span<std::byte> bytes_;
  int file_ = -1;
};

}  // namespace gradhaul
