#include "engine/cpu/bindings.h"

namespace stoker::cpu {

Bindings::Bindings(const ProgramParts& parts)
    : addresses_(parts.buffers.size(), nullptr),
      pointers_of_(parts.buffers.size()),
      memories_of_(parts.buffers.size()) {
  for (const Instruction& instruction : parts.instructions) {
    first_pointer_.push_back(pointers_.size());
    for (int buffer : instruction.operands) {
      pointers_of_[size_t(buffer)].push_back(pointers_.size());
      pointers_.push_back(nullptr);
    }
  }
  for (size_t i = 0; i < parts.memories.size(); ++i)
    memories_of_[size_t(parts.memories[i].buffer)].push_back(i);
}

void Bindings::bind(ProgramParts& parts, int buffer, void* data) {
  if (addresses_[size_t(buffer)] == data) return;
  addresses_[size_t(buffer)] = data;
  for (size_t place : pointers_of_[size_t(buffer)]) pointers_[place] = data;
  for (size_t i : memories_of_[size_t(buffer)]) parts.memories[i].memory.set_data_handle(data);
}

}  // namespace stoker::cpu
