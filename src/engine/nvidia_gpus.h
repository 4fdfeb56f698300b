// The NVIDIA GPUs of the machine as the operating system shows them, without CUDA and without a
// driver's library: enough to say why one is not used, in any build.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/registry.h"

namespace stoker {

struct GpuTraces {
  int on_bus = 0;                        // display and 3D controllers on the PCI bus
  int driven = 0;                        // GPUs that the loaded driver lists
  int nodes = 0;                         // GPUs that this process or container may open
  std::string driver = {};               // its version; empty: none is loaded
  std::vector<std::string> models = {};  // "NVIDIA H200", as far as the driver lists them
  bool any() const { return on_bus > 0 || driven > 0 || nodes > 0; }
};

// Reads some small files. `root` is where /sys, /proc and /dev are looked for.
GpuTraces find_gpus(const std::filesystem::path& root = "/");

// How the search for a usable GPU ended.
struct GpuSearch {
  bool built = false;                       // this build has the GPU engine
  GpuTraces traces = {};                    //
  std::optional<std::string> visible = {};  // CUDA_VISIBLE_DEVICES
  bool hidden = false;                      // set_visible_devices left none
  bool old_driver = false;                  // CUDA calls the driver too old for its runtime
  int runtime = 0;                          // of this build: 12040 is CUDA 12.4
  std::string problem = {};  // in CUDA's words, or of GPUs without kernels; empty: none was found
};
Absence explain_absence(const GpuSearch& search);

// What a build with kernels for these architectures, as CMAKE_CUDA_ARCHITECTURES names them and
// separated by commas, has for a GPU of this compute capability.
enum class KernelFit : uint8_t { machine_code, compiled_at_start, none };
KernelFit kernels_for(std::string_view architectures, int major, int minor);

std::string cuda_version(int number);  // "12.4" for 12040

}  // namespace stoker
