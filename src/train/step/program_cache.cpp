#include "train/step/program_cache.h"

#include <algorithm>

#include "base/cores.h"
#include "engine/registry.h"
#include "graph/passes/passes.h"
#include "train/step/trained_masks.h"

namespace stoker {

std::vector<TensorSpec> specs_of(std::span<const Tensor> tensors) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const Tensor& tensor : tensors) specs.push_back(tensor.spec());
  return specs;
}

namespace {

// Runs in flight before the first is known to be finite: enough to keep a GPU from waiting.
constexpr int kStatusLag = 2;

}  // namespace

std::recursive_mutex& building() {
  static std::recursive_mutex mutex;
  return mutex;
}

Backend& engine_of(const Context& context) { return backend(context.device); }

const BackendTraits& traits_of(const Context& context) {
  return find_device(context.device).traits();
}

DType compute_dtype_of(const std::string& policy, const Context& context) {
  DType wanted = compute_dtype(policy);
  if (wanted == DType::float32 || engine_of(context).supports("conv2d", wanted)) return wanted;
  return DType::float32;
}

DType compute_dtype_of(const Context& context) { return compute_dtype_of(context.policy, context); }

void set_precision(Graph& graph, const Context& context) {
  graph.set_compute_dtype(compute_dtype_of(context));
  graph.set_policy_dtypes(
      [&context](const std::string& policy) { return compute_dtype_of(policy, context); });
}

bool uses_tf32(const Context& context) {
  return traits_of(context).tf32 &&
         context.tf32.value_or(compute_dtype_of(context) != DType::float32);
}

CompileOptions compile_options(const Context& context) {
  CompileOptions options;
  options.threads = context.threads.compute > 0 ? context.threads.compute : available_cores();
  options.deterministic = context.deterministic;
  options.capture = context.capture;
  options.tf32 = uses_tf32(context);
  options.pin = context.pin;
  options.memory_limit = context.memory_limit;
  options.memory_fraction = context.memory_fraction;
  options.memory_growth = context.memory_growth;
  options.status_lag = kStatusLag;
  return options;
}

template <class Matches>
CachedProgram* ProgramCache::find_if(Matches matches) {
  bool masks = mask_changes() > 0;
  auto found = std::ranges::find_if(entries_, [&](const auto& entry) {
    return matches(*entry) && (!masks || entry->graph->template notes<TrainedMasks>().current());
  });
  if (found == entries_.end()) return nullptr;
  std::rotate(entries_.begin(), found, found + 1);
  return entries_.front().get();
}

CachedProgram* ProgramCache::find(int kind, std::span<const Tensor> inputs) {
  return find_if([&](const CachedProgram& entry) {
    return entry.kind == kind && std::ranges::equal(entry.specs, inputs, {}, {}, &Tensor::spec);
  });
}

CachedProgram* ProgramCache::find(int kind, std::span<const TensorSpec> specs) {
  return find_if([&](const CachedProgram& entry) {
    return entry.kind == kind && std::ranges::equal(entry.specs, specs);
  });
}

const CachedProgram* ProgramCache::latest(int kind) const {
  auto found = std::ranges::find(entries_, kind, [](const auto& entry) { return entry->kind; });
  return found == entries_.end() ? nullptr : found->get();
}

CachedProgram& ProgramCache::add(int kind, std::vector<TensorSpec> specs,
                                 std::unique_ptr<Graph> graph, const Context& context) {
  Backend& engine = engine_of(context);
  if (arena_of_ != &engine) {
    clear();
    arena_ = engine.make_arena();
    arena_of_ = &engine;
  }
  CompileOptions options = compile_options(context);
  options.arena = arena_;
  passes::use_fused_forms(
      *graph, [&](std::string_view op, DType dtype) { return engine.supports(op, dtype); });
  std::unique_ptr<Program> program = engine.compile(*graph, options);
  return add(kind, std::move(specs), std::move(graph), std::move(program));
}

CachedProgram& ProgramCache::add(int kind, std::vector<TensorSpec> specs,
                                 std::unique_ptr<Graph> graph, std::unique_ptr<Program> program) {
  auto entry = std::make_unique<CachedProgram>();
  entry->kind = kind;
  entry->specs = std::move(specs);
  entry->program = std::move(program);
  entry->graph = std::move(graph);
  make_room(kind);
  entries_.insert(entries_.begin(), std::move(entry));
  return *entries_.front();
}

void ProgramCache::make_room(int kind) {
  auto of_kind = [&](const auto& entry) { return entry->kind == kind; };
  if (size_t(std::ranges::count_if(entries_, of_kind)) < kCapacity) return;
  auto oldest = std::find_if(entries_.rbegin(), entries_.rend(), of_kind);
  entries_.erase(std::next(oldest).base());
}

void ProgramCache::clear() {
  entries_.clear();
  arena_.reset();
  arena_of_ = nullptr;
}

}  // namespace stoker
