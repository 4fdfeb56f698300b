// A compiled program is a flat list of instructions. Each is a kernel, prepared once, and the
// buffers it works on; running the program is one virtual call per instruction.
#pragma once

#include <memory>
#include <utility>

#include "engine/instruction.h"

namespace stoker::cpu {

// The addresses of an instruction's operands, in the order in which it named them.
class Pointers {
 public:
  explicit Pointers(void* const* first) : first_(first) {}
  template <class T>
  const T* in(int i) const {
    return static_cast<const T*>(first_[i]);
  }
  template <class T>
  T* out(int i) const {
    return static_cast<T*>(first_[i]);
  }

 private:
  void* const* first_;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(Pointers pointers) const = 0;
};

// A kernel made of a function object, without std::function's second indirection.
template <class F>
class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(F function) : function_(std::move(function)) {}
  void run(Pointers pointers) const override { function_(pointers); }

 private:
  F function_;
};

struct Instruction : stoker::Instruction {
  std::unique_ptr<const Kernel> kernel;
  bool always = false;  // of those that write variables: run even if the gate is closed
};

}  // namespace stoker::cpu
