// A variable's contents while programs of the CPU backend use it: one buffer in the layout that the
// first of them asked for. Programs for other batch sizes share it.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include <stoker/variable.h>

#include "engine/cpu/layout.h"
#include "engine/cpu/memory.h"

namespace stoker::cpu {

class CpuResidence final : public Residence {
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

// Which variables have, or had, a buffer here. A variable that another backend took meanwhile comes
// back to the same buffer, so that all programs keep sharing it. Thread-safe.
class VariableHomes {
 public:
  std::shared_ptr<CpuResidence> find(const Variable& variable) const;
  // The buffer of a variable, made with `layout` if there is none yet.
  std::shared_ptr<CpuResidence> make(const Variable& variable, const Layout& layout);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<const void*, std::weak_ptr<CpuResidence>> homes_;
};

// Brings the contents to `home` if they are elsewhere. Cheap when they are not.
inline void take(Variable& variable, const std::shared_ptr<CpuResidence>& home) {
  if (variable.residence().get() == home.get()) return;
  home->write(variable.read());
  variable.move_to(home);
}

}  // namespace stoker::cpu
