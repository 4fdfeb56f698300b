// Every process of mpirun runs the same tests, side by side; only the first one shows them.
#include <gtest/gtest.h>

#include <memory>

#include <stoker/distribute.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  stoker::MultiWorkerMirroredStrategy job;  // all processes meet here
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  std::unique_ptr<::testing::TestEventListener> shown(
      listeners.Release(listeners.default_result_printer()));
  if (job.worker() == 0) listeners.Append(shown.release());
  return RUN_ALL_TESTS();
}
