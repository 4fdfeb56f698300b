// An optimiser's update of some parameters, as part of an instruction: its operands, and what binds
// them to addresses once it runs.
#pragma once

#include <span>
#include <vector>

#include "engine/cuda/builder.h"
#include "engine/cuda/kernels/update.h"
#include "graph/update_layout.h"

namespace stoker::cuda {

// The buffer of a gradient as it lies there, and in `item` how.
int gradient_buffer(Builder& b, int value, UpdateItem& item);

enum class Gradients : uint8_t { read, made_here };

class BoundUpdates {
 public:
  // Adds the operands of the parameters `which` of an optimiser's node to a call, whose other reads
  // it has already.
  BoundUpdates(Builder& b, const Node& node, std::span<const size_t> which, Gradients gradients,
               Call& call);

  size_t count() const { return items_.size(); }
  UpdateOptions options(const Launch& at) const;
  UpdateItem item(const Launch& at, size_t which) const;

 private:
  UpdateLayout layout_;
  UpdateOptions options_;
  Gradients gradients_;
  bool gated_;
  size_t shared_, own_, written_;  // where the operands begin
  std::vector<UpdateItem> items_;  // without addresses
};

}  // namespace stoker::cuda
