#include "scenarios/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace gradhaul {
namespace {

// The examples of FIPS 180-4 (NIST, "Examples with intermediate values", SHA-256), and the empty
// message of the NIST test vectors.
TEST(Sha256, MatchesTheStandardsExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Each length around a block's end, where the padding needs another block.
TEST(Sha256, DiffersForEveryLength) {
  std::string last;
  for (std::size_t length = 50; length < 130; ++length) {
    const std::string hash = sha256(std::string(length, 'x'));
    EXPECT_EQ(hash.size(), 64U);
    EXPECT_NE(hash, last);
    last = hash;
  }
}

}  // namespace
}  // namespace gradhaul
