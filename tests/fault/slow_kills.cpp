// The same with hundreds of kills; the seed is printed by a failure.
#include "fault/training.h"

namespace stoker {
namespace {

TEST(ManyKills, ChangeNothing) {
  for (uint64_t seed : {101, 102, 103}) {
    test::expect_kills_change_nothing(150, seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace stoker
