#include <gtest/gtest.h>

#include "engine/cuda/cuda_backend.h"
#include "engine/reference/reference_backend.h"
#include "engine/registry.h"
#include "support/fake_devices.h"

namespace stoker {

namespace {

using test::FakeFamily;

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
          "unknown device \"" + device + "\"; there are auto, cpu, cuda, cuda:N, reference; ";
      EXPECT_EQ(std::string(error.what()).find(text), 0U) << error.what();
    }
}

TEST(BackendLookup, RefusesDevicesThatCannotBeUsed) {
  EXPECT_THROW(find_device("cuda:1023"), ValueError);
  for (const char* device : {"auto", "cpu", "reference"}) EXPECT_NO_THROW(find_device(device));
}

// Whether it is not built, or there is no driver or no GPU: why, and what works instead.
TEST(BackendLookup, SaysWhyThereIsNoGpu) {
  std::string why;
  if (is_usable("cuda", &why)) GTEST_SKIP() << "there is one";
  EXPECT_EQ(find_device("auto").name(), "cpu");
  for (const char* device : {"cuda", "cuda:0", "cuda:3"}) try {
      backend(device);
      ADD_FAILURE() << "found";
    } catch (const ValueError& error) {
      std::string text = error.what();
      EXPECT_EQ(text.find("device \"" + std::string(device) + "\" cannot be used: "), 0U) << text;
      EXPECT_NE(text.find(cuda_family().absence().why), std::string::npos) << text;
      EXPECT_NE(text.find("\"auto\""), std::string::npos) << text;
    }
}

TEST(BackendLookup, AutoTakesAPreferredDeviceAndElseTheCpu) {
  std::string before = find_device("auto").name();
  {
    FakeFamily others({.name = "fake"}, 1);
    EXPECT_EQ(find_device("auto").name(), before) << "it is not preferred";
    FakeFamily absent({.name = "absent", .preferred = true}, 0, {.why = "none is there"});
    EXPECT_EQ(find_device("auto").name(), before);
  }
  if (before != "cpu") return;
  FakeFamily fake({.name = "fake", .numbered = true, .preferred = true}, 2);
  EXPECT_EQ(find_device("auto").name(), "fake:0");
  EXPECT_EQ(&backend("auto"), fake.backends[0].get());
  EXPECT_EQ(&backend("fake:1"), fake.backends[1].get());
  EXPECT_EQ(find_device("fake").described(), "fake:0: Fake device, 8.0 GiB");
}

TEST(BackendLookup, NamesThoseOfAKindThatWasAdded) {
  FakeFamily fake({.name = "fake", .title = "NPU", .numbered = true}, 2);
  std::string why;
  EXPECT_FALSE(is_usable("fake:2", &why));
  EXPECT_EQ(why, "there is no device \"fake:2\": the last NPU is fake:1");
  EXPECT_FALSE(is_usable("fake:", &why));
  EXPECT_NE(why.find("reference, fake, fake:N"), std::string::npos) << why;
  FakeFamily absent({.name = "absent"}, 0, {.why = "it is unplugged", .advice = "plug it in"});
  EXPECT_FALSE(is_usable("absent", &why));
  EXPECT_EQ(why,
            "device \"absent\" cannot be used: it is unplugged; plug it in; device \"auto\" falls "
            "back to the CPU");
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
