// What ranks note is told once, and by whom.

#include "scenarios/notes_of_ranks.h"

#include <gmock/gmock.h>

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NotesOfRanks, AreToldOnce) {
  EXPECT_THAT(
      notes_of_ranks({"all\n\nodd", "all", "all\nfew", "all\nodd\nfew", "all\nfew", "all\nodd"}),
      ElementsAre("all", "ranks 0, 3 and 5: odd", "ranks 2 to 4: few"));
  EXPECT_THAT(notes_of_ranks({"", "a", "b\na", ""}), ElementsAre("ranks 1 and 2: a", "rank 2: b"));
  EXPECT_THAT(notes_of_ranks({"mine\nmine"}), ElementsAre("mine"));
  EXPECT_THAT(notes_of_ranks({"", ""}), IsEmpty());
}

}  // namespace
}  // namespace gradhaul
