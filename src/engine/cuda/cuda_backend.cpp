#include "engine/cuda/cuda_backend.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "engine/cuda/builder.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/program.h"
#include "graph/passes/passes.h"

namespace stoker {

namespace cuda {

namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int index) {
    shared_.device = std::make_shared<Device>(index);
    shared_.pool = std::make_shared<DevicePool>(shared_.device);
  }

  std::string_view name() const override { return "cuda"; }

  bool supports(std::string_view op, DType dtype) const override {
    if (find_op_builder(op) == nullptr || dtype == DType::bytes) return false;
    const std::vector<DType>& dtypes = OpRegistry::get().find(op).dtypes;
    return dtypes.empty() || std::ranges::find(dtypes, dtype) != dtypes.end();
  }

  std::unique_ptr<Program> compile(const Graph& graph, const CompileOptions& options) override {
    shared_.device->use();
    shared_.pool->set_limit(options.memory_limit);
    std::unique_ptr<Graph> copy = graph.clone();
    if (!options.keep_order) {
      passes::merge_duplicates(*copy);
      passes::fuse(*copy);
      skip_gradient_casts(*copy);
    }
    auto arena = std::dynamic_pointer_cast<SharedArena>(options.arena);
    if (arena == nullptr) arena = std::make_shared<SharedArena>(shared_.pool);
    ProgramParts parts = Builder(std::move(copy), shared_, options).build();
    return std::make_unique<CudaProgram>(std::move(parts), std::move(arena), shared_.pool, options);
  }

  std::shared_ptr<Arena> make_arena() override {
    return std::make_shared<SharedArena>(shared_.pool);
  }

  std::string fingerprint() const override { return shared_.device->fingerprint(); }

 private:
  Shared shared_;
};

}  // namespace

}  // namespace cuda

Backend& cuda_backend(int index) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<cuda::CudaBackend>> backends;
  std::lock_guard lock(mutex);
  std::unique_ptr<cuda::CudaBackend>& found = backends[index];
  if (found == nullptr) found = std::make_unique<cuda::CudaBackend>(index);
  return *found;
}

bool cuda_is_usable(std::string* why) { return !cuda::devices(why).empty(); }

}  // namespace stoker
