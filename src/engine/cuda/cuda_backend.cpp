#include "engine/cuda/cuda_backend.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "base/tracing.h"
#include "engine/cuda/builder.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/program.h"
#include "engine/graph_memory.h"
#include "engine/nvidia_gpus.h"
#include "engine/out_of_memory.h"
#include "graph/passes/passes.h"

namespace stoker {

namespace cuda {

void rewrite(Graph& graph, const CompileOptions& options) {
  passes::compose_attention(
      graph, [](const Node& node) { return find_op_builder(node.op->name) != nullptr; });
  if (options.keep_order) return;
  passes::merge_duplicates(graph);
  passes::fold_padding(graph);
  passes::fuse(graph);
  skip_gradient_casts(graph);
  for (const Special& special : specials())
    if (special.order != nullptr) special.order(graph);
}

namespace {

// How much of this device may be held.
MemoryShare share_of(const CompileOptions& options, const DeviceInfo& device) {
  if (!(options.memory_fraction >= 0 && options.memory_fraction <= 1))
    throw ValueError(
        fmt::format("memory_fraction: expected 0 (all) to 1, got {}", options.memory_fraction));
  auto part = size_t(options.memory_fraction * double(device.memory));
  size_t limit = options.memory_limit;
  if (part > 0) limit = limit > 0 ? std::min(limit, part) : part;
  return {limit, options.memory_growth};
}

class CudaBackend final : public Backend, public ChoosesPlans {
 public:
  explicit CudaBackend(const DeviceInfo& info) : shared_(std::make_shared<Device>(info)) {}

  const BackendTraits& traits() const override { return kCudaTraits; }

  bool supports(std::string_view op, DType dtype) const override {
    bool known = find_op_builder(op) != nullptr || passes::is_composable(op);
    if (!known || dtype == DType::bytes) return false;
    const std::vector<DType>& dtypes = OpRegistry::get().find(op).dtypes;
    return dtypes.empty() || std::ranges::find(dtypes, dtype) != dtypes.end();
  }

  std::unique_ptr<Program> compile(const Graph& graph, const CompileOptions& options) override {
    TraceScope trace("CUDA: a program");
    Device::Turn turn(*shared_.device);
    shared_.pool->set_share(share_of(options, shared_.device->info()));
    std::unique_ptr<Graph> copy = graph.clone();
    rewrite(*copy, options);
    auto arena = std::dynamic_pointer_cast<SharedArena>(options.arena);
    if (arena == nullptr) arena = std::make_shared<SharedArena>(shared_.pool);
    ProgramParts parts = build(graph, std::move(copy), options);
    return std::make_unique<CudaProgram>(std::move(parts), std::move(arena), shared_.pool, options);
  }

  std::shared_ptr<Arena> make_arena() override {
    return std::make_shared<SharedArena>(shared_.pool);
  }

  std::string fingerprint() const override { return shared_.device->fingerprint(); }

  size_t free_bytes(const CompileOptions& options) const override {
    size_t limit = share_of(options, shared_.device->info()).limit, used = shared_.pool->in_use();
    size_t free = shared_.pool->free_bytes();
    return limit > 0 ? std::min(free, limit - std::min(limit, used)) : free;
  }

  size_t cache_bytes() const override { return shared_.device->info().cache; }

  PlanChoices::Map plan_choices() const override { return shared_.choices.used(); }

  void prefer_plans(const PlanChoices::Map& choices) override {
    Device::Turn turn(*shared_.device);
    shared_.choices.prefer(choices);
    shared_.conv_plans.forget();
    shared_.matmul_plans.forget();
  }
  std::string bus_id() const override { return shared_.device->info().bus_id; }

  HostMemory& host_memory() const override { return page_locked_memory(); }

 private:
  // Building places the variables. Where they alone do not fit, there is no memory plan yet that
  // could tell what the rest takes: the graph's own is near enough.
  ProgramParts build(const Graph& graph, std::unique_ptr<Graph> rewritten,
                     const CompileOptions& options) {
    try {
      return Builder(std::move(rewritten), shared_, options).build();
    } catch (const OutOfMemoryError& error) {
      throw OutOfMemoryError(
          fmt::format("{}; {}", error.what(), describe_needs(plan_graph_memory(graph))));
    }
  }

  Shared shared_;
};

}  // namespace

}  // namespace cuda

namespace {

// The GPUs of the machine, those that programs may use, and their engines. CUDA is asked once:
// what it finds does not change within a process.
class CudaFamily final : public DeviceFamily {
 public:
  const BackendTraits& traits() const override { return kCudaTraits; }

  std::vector<DeviceDescription> devices(Visible which) const override {
    std::lock_guard lock(mutex_);
    std::vector<DeviceDescription> list;
    for (const cuda::DeviceInfo& device : which == Visible::all ? search().found : visible())
      list.push_back(
          {"", fmt::format("{}, compute capability {}.{}", device.name, device.major, device.minor),
           device.memory});
    return list;
  }

  int count() const override {
    std::lock_guard lock(mutex_);
    return int(chosen_ ? chosen_->size() : search().found.size());
  }

  Backend& open(int index) override {
    std::lock_guard lock(mutex_);
    const cuda::DeviceInfo device = visible().at(size_t(index));
    auto found = made_.find(device.index);
    if (found == made_.end())
      found = made_.emplace(device.index, std::make_unique<cuda::CudaBackend>(device)).first;
    return *found->second;
  }

  Absence absence() const override {
    std::lock_guard lock(mutex_);
    const char* listed = std::getenv("CUDA_VISIBLE_DEVICES");  // NOLINT(concurrency-mt-unsafe)
    GpuSearch how{.built = true,
                  .traces = find_gpus(),
                  .hidden = chosen_ && chosen_->empty() && !search().found.empty(),
                  .old_driver = search().old_driver,
                  .runtime = cuda::engine_versions().runtime,
                  .problem = search().problem};
    if (listed != nullptr) how.visible = listed;
    return explain_absence(how);
  }

  bool in_use() const override {
    std::lock_guard lock(mutex_);
    return !made_.empty();
  }

  void choose(const std::vector<int>& indices) override {
    std::lock_guard lock(mutex_);
    chosen_ = indices;
  }

  EngineVersions versions() const override { return cuda::engine_versions(); }

 private:
  // mutex_ is held in these.
  const cuda::DeviceSearch& search() const {
    if (!search_) search_ = cuda::search_devices();
    return *search_;
  }
  std::vector<cuda::DeviceInfo> visible() const {
    if (!chosen_) return search().found;
    std::vector<cuda::DeviceInfo> chosen;
    for (int index : *chosen_) chosen.push_back(search().found.at(size_t(index)));
    return chosen;
  }

  mutable std::mutex mutex_;
  mutable std::optional<cuda::DeviceSearch> search_;
  std::optional<std::vector<int>> chosen_;                  // numbers among all
  std::map<int, std::unique_ptr<cuda::CudaBackend>> made_;  // by CUDA's number
};

}  // namespace

DeviceFamily& cuda_family() {
  static CudaFamily family;
  return family;
}

}  // namespace stoker
