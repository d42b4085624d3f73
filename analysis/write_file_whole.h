#pragma once

// A file named on the command line is written whole or not at all: into a temporary file of the
// same folder, flushed to the disk, then renamed over the target. A target that is no regular file
// (/dev/stdout, a pipe) is written directly. The mode of a file that was there is kept; symbolic
// links are followed.

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gradhaul {

// what(): "PATH: what failed: the system's words".
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws FileError; the target is then as it was.
void write_file_whole(const std::string& path, std::string_view content);

// The same for what is written bit by bit, being too large for memory: the target stays as it was
// until commit(), and for ever without it.
class WholeFile {
 public:
  // Throws FileError where nothing can be written there.
  explicit WholeFile(const std::string& path);
  ~WholeFile();
  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&& other) noexcept;

  // Both throw FileError.
  void write(std::string_view content);
  void commit();  // once, at the end

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// Throws FileError where write_file_whole(path, …) could not write, so that a long run does not
// find out at its end. Leaves nothing behind.
void require_writable(const std::string& path);

}  // namespace gradhaul
