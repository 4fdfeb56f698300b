#include "fault/training.h"

namespace stoker {
namespace {

using test::Source;

class Training : public testing::TestWithParam<Source> {};

TEST_P(Training, IsNotChangedByKills) {
  test::KillCount count = test::expect_kills_change_nothing(
      GetParam(), 1, [](const test::KillCount& so_far) { return so_far.total() >= 20; });
  EXPECT_GT(count.hits[size_t(test::Kill::At::file_operation)], 0);
}

TEST_P(Training, IsNotChangedByTheNumberOfPipelineThreads) {
  test::TempDir files, one, four;
  test::write_files(files.path().string());
  test::Job job{.files = files.path().string(), .source = GetParam()};
  auto result = [&](const test::TempDir& dir, int threads) {
    job.directory = dir.path().string();
    job.pipeline_threads = threads;
    test::run(job);
    return test::result_of(job);
  };
  std::string first = result(one, 1);
  EXPECT_NE(first, "");
  EXPECT_EQ(first, result(four, 4));
}

INSTANTIATE_TEST_SUITE_P(Of, Training,
                         testing::Values(Source::slices, Source::arrays, Source::pictures,
                                         Source::tfrecord, Source::csv),
                         [](const auto& source) {
                           return std::string(test::kSourceNames[size_t(source.param)]);
                         });

}  // namespace
}  // namespace stoker
