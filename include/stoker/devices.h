// What this machine can train on, and how much of it may be used.
//   for (const DeviceDescription& device : list_devices()) std::cout << device.name << "\n";
//   set_visible_devices({"cuda:1"});   // before the first use of a GPU
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stoker {

struct DeviceDescription {
  std::string name;         // "cpu", "cuda:0": what Context::device takes
  std::string description;  // "NVIDIA H200, compute capability 9.0"
  size_t memory = 0;        // bytes in all; of a CPU, what this process may still take
};

// The CPU first, then the GPUs that CUDA_VISIBLE_DEVICES and set_visible_devices leave. A machine
// or a build without a GPU lists the CPU alone.
std::vector<DeviceDescription> list_devices();

// These GPUs and no others, in this order: the first becomes "cuda" and "cuda:0". The names are
// list_devices()'s before any such call; "cpu" may stand among them and is always there. ValueError
// for a name that is not; Error when a GPU is in use already, because its number would change.
void set_visible_devices(const std::vector<std::string>& names);

// The default context's memory_growth and memory_limit. Error when a GPU is in use already: what it
// holds cannot be divided anew.
void set_memory_growth(bool growth);
void set_memory_limit(size_t bytes);

}  // namespace stoker
