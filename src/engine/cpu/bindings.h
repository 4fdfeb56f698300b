// Where the operands of a list of instructions lie. Buffers are bound to addresses before a run, and
// again where an address changes; running an instruction then looks nothing up.
#pragma once

#include <vector>

#include "engine/cpu/builder.h"

namespace stoker::cpu {

class Bindings {
 public:
  explicit Bindings(const ProgramParts& parts);

  // Of `parts`, the ones it was made with: their memory objects are bound too.
  void bind(ProgramParts& parts, int buffer, void* data);
  void* at(int buffer) const { return addresses_[size_t(buffer)]; }
  Pointers of(size_t instruction) const {
    return Pointers(pointers_.data() + first_pointer_[instruction]);
  }

 private:
  std::vector<void*> addresses_;                  // by buffer
  std::vector<void*> pointers_;                   // operands of all instructions, one after another
  std::vector<size_t> first_pointer_;             // by instruction
  std::vector<std::vector<size_t>> pointers_of_;  // by buffer: places in pointers_
  std::vector<std::vector<size_t>> memories_of_;  // by buffer: memory objects
};

}  // namespace stoker::cpu
