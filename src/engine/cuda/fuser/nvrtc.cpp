#include "engine/cuda/fuser/nvrtc.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <stoker/error.h>

#include "engine/cuda/fuser/codegen.h"

namespace stoker::fuser {

// As nvrtc.h declares them, since version 11.
struct Nvrtc::Functions {
  using Program = void*;
  void* library = nullptr;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;

  template <class Function>
  bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }
  bool load() {
    for (const char* name :
         {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && find("nvrtcVersion", version) &&
           find("nvrtcCreateProgram", create) && find("nvrtcDestroyProgram", destroy) &&
           find("nvrtcCompileProgram", compile) && find("nvrtcGetCUBINSize", cubin_size) &&
           find("nvrtcGetCUBIN", cubin) && find("nvrtcGetProgramLogSize", log_size) &&
           find("nvrtcGetProgramLog", log);
  }
};

Nvrtc::Nvrtc(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
Nvrtc::~Nvrtc() = default;

const Nvrtc* Nvrtc::get() {
  static const std::unique_ptr<const Nvrtc> found = []() -> std::unique_ptr<const Nvrtc> {
    auto functions = std::make_unique<Functions>();
    if (!functions->load()) return nullptr;
    return std::unique_ptr<const Nvrtc>(new Nvrtc(std::move(functions)));
  }();
  const char* wanted = std::getenv("STOKER_NVRTC");  // NOLINT(concurrency-mt-unsafe)
  return wanted != nullptr && std::string_view(wanted) == "off" ? nullptr : found.get();
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  functions_->version(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

std::string Nvrtc::compile(const std::string& source, int capability) const {
  const Functions& f = *functions_;
  std::string whole = fmt::format("#include \"{}\"\n{}", kPrelude, source);
  std::vector<const char*> names, texts;
  for (const SourceFile& file : prelude_files()) {
    names.push_back(file.name.c_str());
    texts.push_back(file.text.c_str());
  }
  Functions::Program made = nullptr;
  if (f.create(&made, whole.c_str(), "fused.cu", int(names.size()), texts.data(), names.data()) !=
      0)
    throw Error("the run-time compiler takes no program");
  std::unique_ptr<Functions::Program, int (*)(Functions::Program*)> program(&made, f.destroy);
  std::string architecture = fmt::format("--gpu-architecture=sm_{}", capability);
  const std::array options = {architecture.c_str(), "--std=c++17"};
  auto text_of = [&](auto size_of_text, auto get_text) {
    size_t size = 0;
    size_of_text(made, &size);
    std::string text(size, '\0');
    get_text(made, text.data());
    return text;
  };
  if (f.compile(made, int(options.size()), options.data()) != 0)
    throw Error(fmt::format(
        "NVRTC {} does not compile a generated kernel for sm_{}; STOKER_NVRTC=off does without:\n"
        "{}\n{}",
        version(), capability, text_of(f.log_size, f.log), source));
  return text_of(f.cubin_size, f.cubin);
}

}  // namespace stoker::fuser
