#include "engine/cuda/cuda_backend.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "engine/cuda/builder.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/program.h"
#include "engine/out_of_memory.h"
#include "graph/passes/memory_plan.h"
#include "graph/passes/passes.h"

namespace stoker {

namespace cuda {

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

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const DeviceInfo& info) {
    shared_.device = std::make_shared<Device>(info);
    shared_.pool = std::make_shared<DevicePool>(shared_.device);
  }

  std::string_view name() const override { return "cuda"; }

  bool supports(std::string_view op, DType dtype) const override {
    if (find_op_builder(op) == nullptr || dtype == DType::bytes) return false;
    const std::vector<DType>& dtypes = OpRegistry::get().find(op).dtypes;
    return dtypes.empty() || std::ranges::find(dtypes, dtype) != dtypes.end();
  }

  std::unique_ptr<Program> compile(const Graph& graph, const CompileOptions& options) override {
    Device::Turn turn(*shared_.device);
    shared_.pool->set_share(share_of(options, shared_.device->info()));
    std::unique_ptr<Graph> copy = graph.clone();
    if (!options.keep_order) {
      passes::merge_duplicates(*copy);
      passes::fold_padding(*copy);
      passes::fuse(*copy);
      skip_gradient_casts(*copy);
      order_for_heads(*copy);
    }
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

// The engines made so far, and which GPUs of the machine programs see. Thread-safe.
struct Engines {
  std::mutex mutex;
  std::optional<std::vector<int>> chosen;
  std::map<int, std::unique_ptr<cuda::CudaBackend>> made;  // by number among all
};

Engines& engines() {
  static Engines all;
  return all;
}

std::vector<cuda::DeviceInfo> visible(const Engines& all, std::string* why) {
  std::vector<cuda::DeviceInfo> found = cuda::devices(why);
  if (!all.chosen) return found;
  std::vector<cuda::DeviceInfo> chosen;
  for (int index : *all.chosen)
    if (size_t(index) < found.size()) chosen.push_back(found[size_t(index)]);
  if (chosen.empty() && !found.empty() && why != nullptr) *why = "set_visible_devices left no GPU";
  return chosen;
}

}  // namespace

Backend& cuda_backend(int index) {
  Engines& all = engines();
  std::lock_guard lock(all.mutex);
  std::string why;
  std::vector<cuda::DeviceInfo> found = visible(all, &why);
  if (found.empty()) throw ValueError("cuda: " + why);
  if (index < 0 || size_t(index) >= found.size())
    throw ValueError(
        fmt::format("cuda:{} does not exist; there are {} devices", index, found.size()));
  std::unique_ptr<cuda::CudaBackend>& engine = all.made[found[size_t(index)].index];
  if (engine == nullptr) engine = std::make_unique<cuda::CudaBackend>(found[size_t(index)]);
  return *engine;
}

bool cuda_is_usable(std::string* why) {
  Engines& all = engines();
  std::lock_guard lock(all.mutex);
  return !visible(all, why).empty();
}

bool cuda_is_in_use() {
  Engines& all = engines();
  std::lock_guard lock(all.mutex);
  return !all.made.empty();
}

std::vector<GpuDescription> cuda_devices(Visible which) {
  Engines& all = engines();
  std::lock_guard lock(all.mutex);
  std::vector<GpuDescription> list;
  for (const cuda::DeviceInfo& device :
       which == Visible::all ? cuda::devices() : visible(all, nullptr))
    list.push_back(
        {fmt::format("{}, compute capability {}.{}", device.name, device.major, device.minor),
         device.memory});
  return list;
}

void choose_cuda_devices(const std::vector<int>& indices) {
  Engines& all = engines();
  std::lock_guard lock(all.mutex);
  all.chosen = indices;
}

}  // namespace stoker
