#include "scenarios/sweep_journal.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string fresh(const std::string& name) {
  const std::string path = temporary_file(name);
  std::filesystem::remove(path);
  return path;
}

std::string complaint(const std::string& path) {
  try {
    SweepJournal journal(path);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(SweepJournal, KeepsWhatWasAppended) {
  const std::string path = fresh("journal");
  {
    SweepJournal journal(path);
    EXPECT_THAT(journal.kept(), IsEmpty());
    journal.append("k1", "{\"a\": 1}");
    journal.append("k2", "{}");
  }
  {
    SweepJournal journal(path);
    EXPECT_THAT(journal.kept(), ElementsAre(Pair("k1", "{\"a\": 1}"), Pair("k2", "{}")));
    journal.append("k3", "{}");
  }
  SweepJournal journal(path);
  EXPECT_EQ(journal.kept().size(), 3U);
  journal.remove();
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A process may be killed, or a disk be full, at any byte.
TEST(SweepJournal, DropsALastLineThatWasCutOff) {
  const std::string path = fresh("journal");
  {
    SweepJournal journal(path);
    journal.append("k1", "one");
    journal.append("k2", "two");
  }
  const std::string whole = text_of(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_text(path, whole.substr(0, length));
    {
      SweepJournal journal(path);
      EXPECT_EQ(journal.kept().contains("k1"), length >= whole.find("k2")) << length;
      EXPECT_FALSE(journal.kept().contains("k2")) << length;
      journal.append("k3", "three");
    }
    EXPECT_EQ(SweepJournal(path).kept().at("k3"), "three") << length;
  }
}

TEST(SweepJournal, LeavesOthersFilesAlone) {
  const std::string path = fresh("notes.txt");
  write_text(path, "my notes\n");
  EXPECT_THAT(complaint(path), HasSubstr("it is another file"));
  EXPECT_EQ(text_of(path), "my notes\n");
  EXPECT_THAT(complaint("/no/such/folder/x"), HasSubstr("/no/such/folder/x: cannot be written"));
}

TEST(SweepJournal, HasOneWriter) {
  const std::string path = fresh("journal");
  SweepJournal journal(path);
  EXPECT_THAT(complaint(path), HasSubstr("another sweep is writing it"));
}

}  // namespace
}  // namespace gradhaul
