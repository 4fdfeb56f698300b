#include "engine/cpu/cpu_backend.h"

#include <fmt/format.h>

#include "base/cores.h"
#include "base/memory_info.h"
#include "engine/cpu/builder.h"
#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/program.h"
#include "engine/cpu/sixteen_bits.h"
#include "engine/cpu/team.h"

namespace stoker {

namespace cpu {

namespace {

int threads_for(const CompileOptions& options) {
  if (options.threads > 0) return options.threads;
  int compute = default_context().threads.compute;
  return compute > 0 ? compute : available_cores();
}

constexpr BackendTraits kTraits{.name = "cpu"};

class CpuBackend final : public Backend {
 public:
  CpuBackend() { limit_isa(); }
  const BackendTraits& traits() const override { return kTraits; }

  bool supports(std::string_view op, DType dtype) const override {
    const OpBuilder* builder = find_op_builder(op);
    if (builder == nullptr) return false;
    if (dtype == DType::bfloat16 && builder->takes == products)
      return bfloat16_products() != Bfloat16::none;
    bool widened = widenable(dtype) && builder->takes != products && builder->takes(DType::float32);
    return builder->takes(dtype) || widened;
  }

  std::unique_ptr<Program> compile(const Graph& graph, const CompileOptions& options) override {
    std::unique_ptr<Graph> copy = graph.clone();
    rewrite(*copy, options.keep_order);
    // oneDNN divides its work when a primitive is made, so the team must have its size by now.
    int threads = threads_for(options);
    TeamScope team(threads);
    auto arena = std::dynamic_pointer_cast<SharedArena>(options.arena);
    if (arena == nullptr) arena = make_shared_arena();
    return std::make_unique<CpuProgram>(Builder(std::move(copy), homes_).build(), std::move(arena),
                                        threads, options.memory_limit);
  }

  std::shared_ptr<Arena> make_arena() override { return make_shared_arena(); }

  std::string fingerprint() const override {
    const dnnl_version_t* version = dnnl_version();
    return fmt::format("cpu {}, oneDNN {}.{}.{} {} isa {}{}", kernels().name, version->major,
                       version->minor, version->patch, version->hash,
                       int(dnnl::get_effective_cpu_isa()), bfloat16_asked());
  }

 private:
  VariableHomes homes_;
};

class CpuFamily final : public DeviceFamily {
 public:
  const BackendTraits& traits() const override { return kTraits; }
  std::vector<DeviceDescription> devices(Visible) const override {
    return {{std::string(kTraits.name), fmt::format("CPU, {} cores", available_cores()),
             size_t(available_memory())}};
  }
  Backend& open(int) override { return cpu_backend(); }
};

}  // namespace

}  // namespace cpu

Backend& cpu_backend() {
  static cpu::CpuBackend backend;
  return backend;
}

DeviceFamily& cpu_family() {
  static cpu::CpuFamily family;
  return family;
}

}  // namespace stoker
