#include "analysis/write_file_whole.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace gradhaul {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::StartsWith;

class WriteFileWhole : public ::testing::Test {
 protected:
  WriteFileWhole() {
    std::string pattern = (fs::temp_directory_path() / "whole.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~WriteFileWhole() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string content(const std::string& name) {
    std::ifstream file(name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static std::string error_of(const std::string& name) {
    try {
      write_file_whole(name, "x");
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(WriteFileWhole, WritesAndReplaces) {
  write_file_whole(path("a.json"), "first");
  EXPECT_EQ(content(path("a.json")), "first");
  write_file_whole(path("a.json"), std::string(1 << 20, 'x'));
  EXPECT_EQ(content(path("a.json")).size(), 1U << 20);
  EXPECT_EQ(files(), 1U) << "no temporary file stays";
}

TEST_F(WriteFileWhole, KeepsTheModeOfTheFileThatWasThere) {
  write_file_whole(path("a"), "first");
  ::chmod(path("a").c_str(), 0640);
  write_file_whole(path("a"), "second");
  struct stat status {};
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST_F(WriteFileWhole, FollowsSymbolicLinks) {
  fs::create_symlink("target", path("link"));
  write_file_whole(path("link"), "through");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("target")), "through");
  write_file_whole(path("link"), "again");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("target")), "again");
}

TEST_F(WriteFileWhole, DevicesAreWrittenDirectly) {
  write_file_whole("/dev/null", "gone");
  require_writable("/dev/null");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(WriteFileWhole, AMissingFolderIsNamedWithTheSystemsWords) {
  EXPECT_THAT(error_of(path("missing/a.json")), AllOf(StartsWith(path("missing/a.json") + ": "),
                                                      EndsWith("No such file or directory")));
  EXPECT_THROW(require_writable(path("missing/a.json")), FileError);
}

TEST_F(WriteFileWhole, AFolderIsNoFile) {
  EXPECT_THAT(error_of(folder_.string()), EndsWith("Is a directory"));
  EXPECT_THROW(require_writable(folder_.string()), FileError);
}

TEST_F(WriteFileWhole, AFullDiskLeavesTheTargetAsItWas) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_THAT(error_of("/dev/full"), EndsWith("No space left on device"));
}

// Root may write everything, so as root this is tried as somebody else.
TEST_F(WriteFileWhole, AReadOnlyFileIsRefused) {
  constexpr uid_t kNobody = 65534;
  write_file_whole(path("a"), "first");
  ::chmod(path("a").c_str(), 0444);
  ::chmod(folder_.c_str(), 0777);
  const uid_t self = ::geteuid();
  ASSERT_EQ(::seteuid(self == 0 ? kNobody : self), 0);
  const std::string error = error_of(path("a"));
  ASSERT_EQ(::seteuid(self), 0);
  EXPECT_THAT(error, EndsWith("Permission denied"));
  EXPECT_EQ(content(path("a")), "first");
}

TEST_F(WriteFileWhole, AFailureLeavesNothingBehind) {
  // The temporary's name is taken by a folder, so it cannot be made.
  fs::create_directory(path(".a." + std::to_string(::getpid()) + ".tmp"));
  write_file_whole(path("b"), "kept");
  EXPECT_NE(error_of(path("a")), "");
  EXPECT_FALSE(fs::exists(path("a")));
  EXPECT_EQ(files(), 2U);
}

TEST_F(WriteFileWhole, CheckingLeavesNothingBehind) {
  require_writable(path("new.json"));
  EXPECT_EQ(files(), 0U);
  write_file_whole(path("old.json"), "kept");
  require_writable(path("old.json"));
  EXPECT_EQ(content(path("old.json")), "kept");
  EXPECT_EQ(files(), 1U);
}

}  // namespace
}  // namespace gradhaul
