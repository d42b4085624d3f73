#include "scenarios/utf8.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

TEST(Utf8, KnowsWhatIsValid) {
  for (const char* text :
       {"", "abc", "µs", "…", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xee\x80\x80"}) {
    EXPECT_FALSE(first_invalid_utf8(text)) << text;
    EXPECT_EQ(as_utf8(text), text);
  }
}

// RFC 3629, section 3: no overlong forms, no surrogates, nothing above U+10FFFF.
TEST(Utf8, KnowsWhatIsNot) {
  for (const char* text : {"ab\x80", "ab\xc3(", "ab\xc0\x80", "ab\xe0\x80\x80", "ab\xed\xa0\x80",
                           "ab\xf4\x90\x80\x80", "ab\xf0\x80\x80\x80", "ab\xff", "ab\xe2\x80"}) {
    EXPECT_EQ(first_invalid_utf8(text), 2U) << text;
    EXPECT_FALSE(first_invalid_utf8(as_utf8(text)));
  }
}

}  // namespace
}  // namespace gradhaul
