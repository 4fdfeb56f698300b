// The replicas of one process meet for their sums.
#include "distribute/local/replica_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include <stoker/dtype.h>

#include "distribute/sums.h"

namespace stoker::distribute {
namespace {

using ::testing::HasSubstr;

// Runs body(replica, communicator) on a thread each.
void on_threads(const std::shared_ptr<ReplicaGroup>& group,
                const std::function<void(int, Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (int replica = 0; replica < group->replicas(); ++replica)
    threads.emplace_back([&, replica] { body(replica, *group->communicator(replica)); });
  for (std::thread& thread : threads) thread.join();
}

std::shared_ptr<ReplicaGroup> group_of(int replicas, int milliseconds = 20'000) {
  return std::make_shared<ReplicaGroup>(ReplicaGroup::Options{
      .replicas = replicas, .deadline = std::chrono::milliseconds(milliseconds)});
}

TEST(ReplicaGroup, AddsInTheOrderOfTheRanks) {
  // (1e8 + 1) - 1e8 is 0 in float32, and 1e8 - 1e8 + 1 is 1.
  std::vector<float> values = {1e8F, -1e8F, 1.0F};
  auto group = group_of(3);
  std::vector<float> sums(3);
  on_threads(group, [&](int replica, Communicator& communicator) {
    float mine = values[size_t(replica)];
    communicator.wait(communicator.start_sum({&mine, 1, Wire::float32}));
    sums[size_t(replica)] = mine;
  });
  EXPECT_EQ(sums, (std::vector<float>{1, 1, 1}));
}

TEST(ReplicaGroup, SumsSeveralBucketsThatAreUnderWayAtOnce) {
  auto group = group_of(4);
  on_threads(group, [&](int replica, Communicator& communicator) {
    for (int round = 0; round < 50; ++round) {
      std::vector<float> first(1000, float(replica)), second(7, 1.0F);
      std::vector<int64_t> third(3, int64_t(1) << 40);
      uint64_t a = communicator.start_sum({first.data(), first.size(), Wire::float32});
      uint64_t b = communicator.start_sum({second.data(), second.size(), Wire::bfloat16});
      uint64_t c = communicator.start_sum({third.data(), third.size(), Wire::int64});
      communicator.wait(a);
      communicator.wait(b);
      communicator.wait(c);
      EXPECT_EQ(first, std::vector<float>(1000, 6.0F));
      EXPECT_EQ(second, std::vector<float>(7, 4.0F));
      EXPECT_EQ(third, std::vector<int64_t>(3, int64_t(1) << 42));
    }
  });
}

// Replicas whose steps differ in their updates need their sums in another order.
TEST(ReplicaGroup, EndsSumsInWhateverOrderReplicasWait) {
  auto group = group_of(3);
  on_threads(group, [&](int replica, Communicator& communicator) {
    for (int round = 0; round < 50; ++round) {
      std::vector<float> first(100, 1.0F), second(100, 2.0F);
      uint64_t a = communicator.start_sum({first.data(), first.size(), Wire::float32});
      uint64_t b = communicator.start_sum({second.data(), second.size(), Wire::float32});
      communicator.wait(replica == 1 ? b : a);
      communicator.wait(replica == 1 ? a : b);
      EXPECT_EQ(first, std::vector<float>(100, 3.0F));
      EXPECT_EQ(second, std::vector<float>(100, 6.0F));
    }
  });
}

TEST(ReplicaGroup, RoundsContributionsAndSumsToBfloat16) {
  auto group = group_of(2);
  on_threads(group, [&](int, Communicator& communicator) {
    float value = 1.003F;
    communicator.wait(communicator.start_sum({&value, 1, Wire::bfloat16}));
    float rounded = float(BFloat16(1.003F));
    EXPECT_EQ(value, float(BFloat16(rounded + rounded)));
  });
}

TEST(ReplicaGroup, NamesTheReplicaThatDoesNotJoin) {
  auto group = group_of(2, 50);
  auto communicator = group->communicator(0);
  float value = 1;
  uint64_t ticket = communicator->start_sum({&value, 1, Wire::float32});
  try {
    communicator->wait(ticket);
    FAIL() << "no replica joined";
  } catch (const CollectiveError& error) {
    EXPECT_THAT(error.what(), HasSubstr("replica 1 did not join"));
  }
}

TEST(ReplicaGroup, EndsAllWaitsWhenAReplicaFailsAndGoesOnAfterRecovering) {
  auto group = group_of(2);
  auto communicator = group->communicator(0);
  float value = 1;
  uint64_t ticket = communicator->start_sum({&value, 1, Wire::float32});
  group->fail("replica 1 ran out of luck");
  EXPECT_THROW(communicator->wait(ticket), CollectiveError);
  group->recover();
  std::vector<std::shared_ptr<Communicator>> both = {communicator, group->communicator(1)};
  std::vector<float> sums = {1, 2};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      both[i]->wait(both[i]->start_sum({&sums[i], 1, Wire::float32}));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, (std::vector<float>{3, 3}));
}

TEST(ReplicaGroup, RefusesSumsOfDifferentSizes) {
  auto group = group_of(2);
  std::vector<float> value(2);
  group->communicator(0)->start_sum({value.data(), 1, Wire::float32});
  EXPECT_THROW(group->communicator(1)->start_sum({value.data(), 2, Wire::float32}),
               CollectiveError);
}

}  // namespace
}  // namespace stoker::distribute
