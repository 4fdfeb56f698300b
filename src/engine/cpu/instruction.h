// A compiled program is a flat list of instructions. Each is a kernel, prepared once, and the
// buffers it works on; running the program is one virtual call per instruction.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend.h"

namespace stoker::cpu {

// Where a buffer's memory comes from.
enum class BufferKind : uint8_t {
  arena,     // planned: alive from its first to its last instruction
  output,    // the program's own: outputs of a run outlive the arena's next use
  constant,  // the program's own, filled when it was compiled
  variable,  // a variable's residence
  input,     // the caller's tensor, bound anew at every run
};

struct BufferInfo {
  BufferKind kind = BufferKind::arena;
  size_t bytes = 0;
  MemoryCategory category = MemoryCategory::activations;
  int index = -1;  // constant, variable, input: which
};

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

struct Operand {
  int buffer = -1;
  bool write = false;
  int value = -1;  // that it then holds, or -1
};

struct Instruction {
  std::unique_ptr<const Kernel> kernel;
  std::vector<Operand> operands;
  KernelInfo info;
  bool always = false;  // of those that write variables: run even if the gate is closed
};

}  // namespace stoker::cpu
