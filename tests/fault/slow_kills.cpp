// The same with hundreds of kills; a failure prints its seed. `make campaign` gives it minutes
// instead of a number (STOKER_CAMPAIGN_SECONDS, for each source) and a seed (STOKER_CAMPAIGN_SEED),
// and reads the line that it prints.
#include <cstdlib>

#include "fault/training.h"

namespace stoker {
namespace {

double setting(const char* name, double otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atof(value);
}

class ManyKills : public testing::TestWithParam<test::Source> {};

TEST_P(ManyKills, ChangeNothing) {
  double seconds = setting("STOKER_CAMPAIGN_SECONDS", 0);
  auto seed = uint64_t(setting("STOKER_CAMPAIGN_SEED", 101));
  int64_t begin = steady_clock().now();
  test::KillCount count =
      test::expect_kills_change_nothing(GetParam(), seed, [&](const test::KillCount& so_far) {
        return seconds > 0 ? double(steady_clock().now() - begin) * 1e-9 > seconds
                           : so_far.total() >= 100;
      });
  std::printf("kills: %s", test::kSourceNames[size_t(GetParam())]);
  for (size_t at = 0; at < count.hits.size(); ++at)
    std::printf(", %s %d", test::kKillNames[at], count.hits[at]);
  std::printf(", trainings %d, resumed %d\n", count.trainings, count.resumed);
}

INSTANTIATE_TEST_SUITE_P(Of, ManyKills,
                         testing::Values(test::Source::slices, test::Source::arrays,
                                         test::Source::pictures, test::Source::tfrecord,
                                         test::Source::csv),
                         [](const auto& source) {
                           return std::string(test::kSourceNames[size_t(source.param)]);
                         });

}  // namespace
}  // namespace stoker
