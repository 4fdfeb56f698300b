// The architecture inside a model file. What was read must be the same after it was written and
// read again.
#include <string>
#include <vector>

#include <stoker/error.h>

#include "fuzz/fuzz.h"
#include "train/files/architecture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stoker;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<Tensor> constants = {Tensor::from({1.0F, 2.0F}, {2})};
  std::vector<Tensor> kept;
  std::shared_ptr<ModelBase> model;
  try {
    model = architecture_from_json(text, constants, LayerFactories());
  } catch (const Error&) {
    return 0;
  }
  std::string once = architecture_to_json(*model, kept);
  std::vector<Tensor> again;
  test::expect(architecture_to_json(*architecture_from_json(once, kept, LayerFactories()), again) ==
               once);
  return 0;
}
