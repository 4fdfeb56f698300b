#include "engine/reference/reference_backend.h"

#include "engine/graph_memory.h"
#include "engine/out_of_memory.h"
#include "engine/reference/program.h"

namespace stoker {

namespace {

constexpr BackendTraits kReferenceTraits{
    .name = "reference", .oracle = true, .half_products = true};

class ReferenceBackend final : public Backend {
 public:
  explicit ReferenceBackend(reference::Rounding rounding) : rounding_(rounding) {}

  const BackendTraits& traits() const override { return kReferenceTraits; }

  bool supports(std::string_view op, DType dtype) const override {
    return dtype != DType::bytes && reference::kernel_table().contains(op);
  }

  std::unique_ptr<Program> compile(const Graph& graph, const CompileOptions& options) override {
    check_host_memory(plan_graph_memory(graph), graph, options.memory_limit, 0, name());
    return std::make_unique<reference::ReferenceProgram>(graph, rounding_);
  }

  // Values of the reference backend never share memory.
  std::shared_ptr<Arena> make_arena() override { return std::make_shared<Arena>(); }

  std::string fingerprint() const override {
    return rounding_ == reference::Rounding::exact ? "reference exact" : "reference";
  }

 private:
  reference::Rounding rounding_;
};

class ReferenceFamily final : public DeviceFamily {
 public:
  const BackendTraits& traits() const override { return kReferenceTraits; }
  std::vector<DeviceDescription> devices(Visible) const override {
    return {{std::string(kReferenceTraits.name), "CPU, one thread, every op computed plainly"}};
  }
  Backend& open(int) override { return reference_backend(); }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(const ReferenceOptions& options) {
  return std::make_unique<ReferenceBackend>(options.exact ? reference::Rounding::exact
                                                          : reference::Rounding::as_dtype);
}

Backend& reference_backend() {
  static ReferenceBackend backend(reference::Rounding::as_dtype);
  return backend;
}

DeviceFamily& reference_family() {
  static ReferenceFamily family;
  return family;
}

}  // namespace stoker
