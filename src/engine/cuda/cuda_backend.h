// The GPU engine behind engine/backend.h. Where it is not built, engine/stub_cuda has the same
// functions, so that no caller asks the preprocessor.
#pragma once

#include <string>
#include <vector>

#include "engine/backend.h"

namespace stoker {

// The engine of the visible GPU `index`, made at the first call. ValueError when there is none.
Backend& cuda_backend(int index);

bool cuda_is_usable(std::string* why);
bool cuda_is_in_use();  // whether an engine was made

struct GpuDescription {
  std::string text;
  size_t memory = 0;
};
enum class Visible : uint8_t { all, chosen };
// In the order of their numbers.
std::vector<GpuDescription> cuda_devices(Visible which);
void choose_cuda_devices(const std::vector<int>& indices);  // among all

}  // namespace stoker
