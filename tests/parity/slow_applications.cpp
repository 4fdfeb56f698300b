// The large networks of keras.applications have Keras's weights, name by name.
#include "parity/application_cases.h"

namespace stoker::test {
namespace {

TEST(LargeApplications, HaveTheWeightsOfKeras) {
  for (const auto& [name, make] : large_applications()) expect_structure(name, make);
}

}  // namespace
}  // namespace stoker::test
