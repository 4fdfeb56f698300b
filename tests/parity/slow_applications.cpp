// The large networks of keras.applications have Keras's weights, name by name.
#include "parity/application_cases.h"

namespace stoker::test {
namespace {

TEST(LargeApplications, HaveTheWeightsOfKeras) { expect_structures(large_applications()); }

}  // namespace
}  // namespace stoker::test
