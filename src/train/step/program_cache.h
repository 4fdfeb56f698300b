// The programs of one model or function: one for each kind of step and each set of input specs, at
// most 32 of a kind (the least recently used goes), all in one arena, which is as large as the
// largest of them needs. Looking one up costs a few comparisons and no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <stoker/context.h>
#include <stoker/tensor.h>

#include "engine/backend.h"

namespace stoker {

// The numbers of the last steps that a program ran.
class RecentSteps {
 public:
  void add(int64_t step) { steps_[size_t(count_++) % steps_.size()] = step; }
  // The step `back` runs before the last one, as far as it is remembered.
  int64_t before(int64_t back) const {
    int64_t known = std::min(count_, int64_t(steps_.size()));
    return known == 0 ? -1 : steps_[size_t(count_ - 1 - std::min(back, known - 1)) % steps_.size()];
  }

 private:
  std::array<int64_t, 8> steps_{};
  int64_t count_ = 0;
};

struct CachedProgram {
  int kind = 0;
  std::vector<TensorSpec> specs;  // of the inputs
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Program> program;
  // Which steps ran it last. Where programs take turns, runs of one are not steps in a row.
  RecentSteps steps = {};
};

class ProgramCache {
 public:
  static constexpr size_t kCapacity = 32;  // of a kind

  // The program for these inputs, or null; one that was traced with other masks is passed over. A
  // program that is found becomes the most recently used.
  CachedProgram* find(int kind, std::span<const Tensor> inputs);
  CachedProgram* find(int kind, std::span<const TensorSpec> specs);
  // The most recently used first.
  std::span<const std::unique_ptr<CachedProgram>> entries() const { return entries_; }
  // The most recently used program of a kind, or null.
  const CachedProgram* latest(int kind) const;
  // Compiles a graph on the context's device, with the fused forms that its engine has, and keeps it.
  CachedProgram& add(int kind, std::vector<TensorSpec> specs, std::unique_ptr<Graph> graph,
                     const Context& context);
  // Keeps a program that was made elsewhere, of this graph or of several like it.
  CachedProgram& add(int kind, std::vector<TensorSpec> specs, std::unique_ptr<Graph> graph,
                     std::unique_ptr<Program> program);
  void clear();  // the arena too
  size_t size() const { return entries_.size(); }
  // Nanoseconds that tracing and compiling its programs has taken so far.
  int64_t making_ns() const { return making_ns_; }
  void count_making(int64_t ns) { making_ns_ += ns; }

 private:
  template <class Matches>
  CachedProgram* find_if(Matches matches);
  void make_room(int kind);

  std::vector<std::unique_ptr<CachedProgram>> entries_;  // most recently used first
  std::shared_ptr<Arena> arena_;
  const Backend* arena_of_ = nullptr;
  int64_t making_ns_ = 0;
};

std::vector<TensorSpec> specs_of(std::span<const Tensor> tensors);
// The context's engine. ValueError for a device that does not exist or cannot be used.
Backend& engine_of(const Context& context);
// The same without opening the device.
const BackendTraits& traits_of(const Context& context);
// What products compute in under the context's policy on its engine.
DType compute_dtype_of(const Context& context);
// The same for a policy of a layer's own.
DType compute_dtype_of(const std::string& policy, const Context& context);
// Whether its float32 products round their operands (Context::tf32).
bool uses_tf32(const Context& context);
// Tells a graph what its products and its layers' policies mean on the context's engine. The
// context must outlive the tracing.
void set_precision(Graph& graph, const Context& context);
// Held while a step is traced and compiled: layers and models of several threads may meet there.
std::recursive_mutex& building();
// The compile options of this context, with threads resolved.
CompileOptions compile_options(const Context& context);

}  // namespace stoker
