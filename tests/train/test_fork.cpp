// A child after fork() works, or gets an Error at once: it never waits for threads that its parent
// kept.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "support/tsan.h"
#include "train/helpers.h"

namespace stoker {
namespace {

constexpr unsigned kMostSeconds = 60;  // the alarm ends a child that hangs

// What the child says: "ok", or its error. "died" when it said nothing.
std::string in_child(const std::function<void()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    alarm(kMostSeconds);
    std::string text = "ok";
    try {
      body();
    } catch (const std::exception& error) {
      text = error.what();
    }
    ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == ssize_t(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text(4096, ' ');
  ssize_t length = read(ends[0], text.data(), text.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return length > 0 && WIFEXITED(status) ? text.substr(0, size_t(length)) : "died";
}

struct Trained {
  Sequential model{{Input({64}), Dense(256, {.activation = "relu"}), Dense(3)}};
  test::Data data = test::blobs(64, 64, 3, 1);
  Trained() {
    model.compile(
        {.optimizer = "sgd", .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  }
  void fit() { model.fit(data.x, data.y, {.verbose = 0}); }
};

class Fork : public testing::Test {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
};

TEST_F(Fork, AChildOfAProcessThatTrainedOnTheReferenceTrains) {
  test::OnDevice device("reference");
  Trained trained;
  trained.fit();
  EXPECT_EQ(in_child([&] { trained.fit(); }), "ok");
}

TEST_F(Fork, AChildOfAProcessThatTrainedOnTheCpuGetsAnErrorAtOnce) {
  test::OnDevice device("cpu");
  set_threads({.compute = 2});
  Trained trained;
  trained.fit();
  for (const auto& body : std::vector<std::function<void()>>{
           [&] { trained.fit(); }, [&] { trained.model.predict(trained.data.x); },
           [&] { trained.model.evaluate(trained.data.x, trained.data.y); },
           [&] { Trained().fit(); }})
    EXPECT_THAT(in_child(body), testing::HasSubstr("fork before the first use"));
  trained.fit();  // the parent goes on
  set_threads({});
}

TEST_F(Fork, AChildOfAProcessThatUsedNothingTrains) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // begins the test in a process of its own
  auto train_in_child = [] {
    test::OnDevice device("cpu");
    set_threads({.compute = 2});
    std::string said = in_child([] { Trained().fit(); });
    _exit(said == "ok" ? 0 : 1);
  };
  EXPECT_EXIT(train_in_child(), testing::ExitedWithCode(0), "");
}

TEST_F(Fork, AChildWithOneComputeThreadTrains) {
  test::OnDevice device("cpu");
  set_threads({.compute = 1});
  Trained trained;
  trained.fit();
  EXPECT_EQ(in_child([&] { trained.fit(); }), "ok");
  set_threads({});
}

TEST_F(Fork, AnIteratorOfTheParentIsAnErrorInTheChildAndANewOneWorks) {
  data::Dataset numbers = data::range(1000).batch(2);
  data::Iterator iterator = numbers.iterate();
  iterator.next();
  EXPECT_THAT(in_child([&] {
                while (iterator.next() != nullptr) {
                }
              }),
              testing::HasSubstr("the pipeline's threads"));
  EXPECT_EQ(in_child([&] { numbers.iterate().next(); }), "ok");
}

}  // namespace
}  // namespace stoker
