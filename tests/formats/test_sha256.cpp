#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "formats/sha256.h"

namespace stoker {
namespace {

std::string sha256_of(const std::string& text) { return sha256(as_bytes(text)); }

// FIPS 180-4's examples, as NIST publishes them.
TEST(Sha256, GivesThePublishedSums) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesArrive) {
  std::string text(300, 'x');
  for (size_t at = 0; at < text.size(); ++at) text[at] = char(at * 7);
  for (size_t length : {0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 300})
    for (size_t cut = 0; cut <= length; ++cut) {
      Sha256 hash;
      hash.update(as_bytes(text.substr(0, cut)));
      hash.update(as_bytes(text.substr(cut, length - cut)));
      ASSERT_EQ(hash.hex(), sha256_of(text.substr(0, length))) << cut << " of " << length;
    }
}

TEST(Sha256, GoesOnAfterItWasRead) {
  Sha256 hash;
  hash.update(as_bytes("ab"));
  EXPECT_EQ(hash.hex(), sha256_of("ab"));
  hash.update(as_bytes("c"));
  EXPECT_EQ(hash.hex(), sha256_of("abc"));
}

}  // namespace
}  // namespace stoker
