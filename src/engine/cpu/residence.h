// A variable's contents while programs of the CPU backend use it: one buffer in the layout that the
// first of them asked for. Programs for other batch sizes share it.
#pragma once

#include "engine/cpu/layout.h"
#include "engine/cpu/memory.h"
#include "engine/variable_homes.h"

namespace stoker::cpu {

class CpuResidence final : public CountedResidence {
 public:
  CpuResidence(const TensorSpec& spec, const Layout& layout);

  Tensor read() const override;
  void write(const Tensor& value) override;

  const Layout& layout() const { return layout_; }
  void* data() const { return block_.data(); }
  size_t bytes() const { return block_.bytes(); }
  // Whether what write() brought last was finite. Updates of a guarded program keep it so.
  bool came_finite() const { return came_finite_; }

 private:
  TensorSpec spec_;
  Layout layout_;
  AlignedBlock block_;
  bool came_finite_ = true;
};

using VariableHomes = stoker::VariableHomes<CpuResidence>;

}  // namespace stoker::cpu
