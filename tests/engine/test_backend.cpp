#include <gtest/gtest.h>

#include "engine/backend.h"
#include "engine/reference/reference_backend.h"

namespace stoker {

namespace {

TEST(BackendLookup, FindsEveryDeviceByName) {
  EXPECT_EQ(backend("cpu").name(), "cpu");
  EXPECT_EQ(backend("reference").name(), "reference");
  EXPECT_EQ(&backend("reference"), &reference_backend());
}

TEST(BackendLookup, ListsTheNamesForAnUnknownOne) {
  for (std::string device : {"gpu", "cuda:0,cuda:1", "CPU", "cpu:1", "cuda:x", "cuda:-1", ""}) try {
      backend(device);
      ADD_FAILURE() << "found " << device;
    } catch (const ValueError& error) {
      std::string text =
          "unknown device \"" + device + "\"; there are cpu, cuda, cuda:N, reference; ";
      EXPECT_EQ(std::string(error.what()).find(text), 0U) << error.what();
    }
}

TEST(BackendLookup, RefusesTheGpusBeyondTheLast) {
  EXPECT_THROW(check_device("cuda:1023"), ValueError);
  for (const char* device : {"cpu", "reference", "cuda", "cuda:0"})
    EXPECT_NO_THROW(check_device(device));
}

// Whether it is not built, or there is no driver or no GPU: the reason is told, nothing breaks.
TEST(BackendLookup, SaysWhyThereIsNoGpu) {
  std::string why;
  if (has_cuda(&why)) GTEST_SKIP() << "there is one";
  EXPECT_FALSE(why.empty());
  for (const char* device : {"cuda", "cuda:3"}) try {
      backend(device);
      ADD_FAILURE() << "found";
    } catch (const ValueError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
}

TEST(BackendLookup, FingerprintsTellBackendsApart) {
  EXPECT_FALSE(backend("cpu").fingerprint().empty());
  EXPECT_NE(backend("cpu").fingerprint(), backend("reference").fingerprint());
  EXPECT_NE(make_reference_backend({.exact = true})->fingerprint(),
            backend("reference").fingerprint());
}

TEST(BackendLookup, TellsHowMuchMemoryIsFreeWithinALimit) {
  CompileOptions options;
  size_t free = backend("cpu").free_bytes(options);
  EXPECT_GT(free, size_t(1) << 20);
  options.memory_limit = 1000;
  EXPECT_EQ(backend("cpu").free_bytes(options), 1000);
}

TEST(BackendLookup, NoBackendSupportsBytesOrUnknownOps) {
  for (std::string_view device : {"cpu", "reference"}) {
    EXPECT_FALSE(backend(device).supports("reshape", DType::bytes));
    EXPECT_FALSE(backend(device).supports("no_such_op", DType::float32));
  }
}

}  // namespace

}  // namespace stoker
