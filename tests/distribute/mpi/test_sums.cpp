// Sums over processes, by the transport itself: every size, wire and number of contributions.
#include <gtest/gtest.h>

#include <future>

#include <stoker/dtype.h>

#include "distribute/mpi/mpi_transport.h"
#include "distribute/mpi/pause.h"
#include "distribute/sums.h"

namespace stoker::distribute {
namespace {

using namespace std::chrono_literals;

Transport& transport() { return mpi_transport(60s); }

// What replica `rank` contributes: of many magnitudes, so that the order of additions shows.
std::vector<float> contribution(int rank, size_t elements) {
  std::vector<float> values(elements);
  for (size_t i = 0; i < elements; ++i)
    values[i] = float(int(i * 7 % 1013) - 500) * (rank % 2 == 0 ? 1e4F : 1e-3F) + float(rank);
  return values;
}

std::vector<float> expected(int ranks, size_t elements, Wire wire) {
  std::vector<std::vector<float>> all;
  std::vector<const void*> pointers;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(contribution(rank, elements));
  for (const std::vector<float>& each : all) pointers.push_back(each.data());
  std::vector<float> sum(elements);
  sum_in_order(pointers, elements, wire, sum.data());
  return sum;
}

struct Sum {
  std::vector<std::vector<float>> own;  // by replica of this process
  std::promise<void> ended;
};

void start(Sum& sum, int replicas, size_t elements, Wire wire) {
  Exchange exchange{.contributions = {}, .elements = elements, .wire = wire};
  for (int replica = 0; replica < replicas; ++replica)
    sum.own.push_back(contribution(transport().process() * replicas + replica, elements));
  for (std::vector<float>& each : sum.own) exchange.contributions.push_back(each.data());
  transport().start(std::move(exchange), [&sum](const std::exception_ptr& error) {
    if (error) return sum.ended.set_exception(error);
    sum.ended.set_value();
  });
}

// One that fits a message, some that are divided, all under way at once; twice, since memory is used
// again.
TEST(MpiSums, HaveTheBitsOfASumInTheOrderOfTheRanks) {
  const std::vector<size_t> sizes = {1, 1000, 5000, 262'147, 1'500'001, 3'000'000};
  for (int replicas : {1, 2})
    for (Wire wire : {Wire::float32, Wire::bfloat16, Wire::float32}) {
      std::vector<Sum> sums(sizes.size());
      for (size_t i = 0; i < sizes.size(); ++i) start(sums[i], replicas, sizes[i], wire);
      for (size_t i = 0; i < sizes.size(); ++i) {
        sums[i].ended.get_future().get();
        std::vector<float> sum = expected(transport().processes() * replicas, sizes[i], wire);
        for (const std::vector<float>& each : sums[i].own)
          EXPECT_TRUE(each == sum) << sizes[i] << " elements, " << name(wire);
      }
    }
}

TEST(MpiSums, OfNothingAreDoneAtOnce) {
  bool done = false;
  transport().start({.contributions = {nullptr}, .elements = 0},
                    [&](const std::exception_ptr& error) { done = error == nullptr; });
  EXPECT_TRUE(done);
}

TEST(Pause, GrowsWithTheTimeSinceTheLastMessage) {
  mpi::Pause pause;
  mpi::Pause::Clock::time_point now = mpi::Pause::Clock::now();
  pause.moved(now);
  EXPECT_EQ(pause.next(true, now), 0ns);
  EXPECT_GT(pause.next(false, now), 0ns);
  EXPECT_LT(pause.next(false, now + 1ms), pause.next(false, now + 2ms));
  EXPECT_LT(pause.next(true, now + 100us), pause.next(false, now + 100us));
  EXPECT_LE(pause.next(false, now + 1h), 1ms);
}

}  // namespace
}  // namespace stoker::distribute
