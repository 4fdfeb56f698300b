#include "engine/fuser/host_kernels.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"

namespace stoker::test {

namespace {

constexpr size_t kBehind = 256;  // bytes that must stay as they are
constexpr int kUntouched = 0x7e;

// Memory that begins as a GPU's does.
class Aligned {
 public:
  explicit Aligned(size_t bytes) : memory_(bytes + kBehind + 256, char(kUntouched)) {}
  char* data() {
    auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (256 - address % 256);
  }

 private:
  std::vector<char> memory_;
};

size_t bytes_of(const TensorSpec& spec) {
  return size_t(spec.shape.elements()) * size_of(spec.dtype);
}

}  // namespace

bool HostKernels::usable() { return std::system("c++ --version > /dev/null 2>&1") == 0; }

std::string HostKernels::compile() {
  std::string text = fmt::format("#include \"{}/engine/fuser/host_cuda.h\"\n#include \"{}\"\n",
                                 STOKER_TEST_SOURCE_DIR, fuser::kPrelude);
  for (const auto& [name, kernel] : kernels_)
    text += kernel.source +
            fmt::format(
                "extern \"C\" void run_{0}(unsigned x, unsigned y, void** arguments) {{\n"
                "  run_grid({{x, y}}, [](void** list) {{ call({0}, list); }}, arguments);\n}}\n",
                name);
  folder_.write("kernels.cpp", text);
  for (const fuser::SourceFile& file : fuser::prelude_files()) folder_.write(file.name, file.text);
  std::string command = fmt::format(
      "cd {} && c++ -std=c++17 -O0 -w -fPIC -shared -I. kernels.cpp -o kernels.so 2> log",
      folder_.path().string());
  if (std::system(command.c_str()) != 0) return read_text(folder_ / "log");
  library_ = dlopen((folder_ / "kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  return library_ == nullptr ? dlerror() : "";
}

Tensor HostKernels::run(const fuser::GeneratedKernel& kernel, const std::vector<Tensor>& operands,
                        const TensorSpec& result) const {
  std::vector<Aligned> memory;
  std::vector<void*> arguments;
  memory.reserve(operands.size() + 2);  // addresses stay
  auto place = [&](size_t bytes) {
    memory.emplace_back(bytes);
    arguments.push_back(memory.back().data());
    return memory.back().data();
  };
  for (const Tensor& tensor : operands)
    std::memcpy(place(bytes_of(tensor.spec())), tensor.raw(), bytes_of(tensor.spec()));
  size_t bytes = bytes_of(result);
  char* out = place(bytes);
  std::vector<unsigned> counters(kernel.counter_bytes / sizeof(unsigned), 0);
  if (kernel.partial_bytes > 0) {
    place(kernel.partial_bytes);
    arguments.push_back(counters.data());
  }
  auto* run = reinterpret_cast<void (*)(unsigned, unsigned, void**)>(
      dlsym(library_, ("run_" + kernel.name).c_str()));
  if (run == nullptr) throw Error(kernel.name + " was not compiled");
  run(kernel.grid_x, kernel.grid_y, arguments.data());
  for (size_t i = 0; i < kBehind; ++i)
    if (out[bytes + i] != char(kUntouched))
      throw Error("a kernel wrote past the end of its result");
  for (unsigned counter : counters)
    if (counter != 0) throw Error("a kernel left a counter behind");
  Tensor made = Tensor::zeros(result.shape, result.dtype);
  std::memcpy(made.raw_mut(), out, bytes);
  return made;
}

}  // namespace stoker::test
