// Every process of mpirun runs the same tests, side by side; only the first one shows them.
#include <gtest/gtest.h>

#include <stoker/distribute.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  stoker::MultiWorkerMirroredStrategy job;  // all processes meet here
  if (job.worker() > 0)
    delete ::testing::UnitTest::GetInstance()->listeners().Release(
        ::testing::UnitTest::GetInstance()->listeners().default_result_printer());
  return RUN_ALL_TESTS();
}
