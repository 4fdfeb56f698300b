// What every instruction of a run takes on the device: marks between them, issued or captured with
// them, and read when the run is over. From one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/cuda/device.h"

namespace stoker::cuda {

class KernelTimer {
 public:
  explicit KernelTimer(size_t instructions);

  // An instruction begins where the previous one ended, unless begin() is called for it. The same
  // instructions must call it in every run. Two consecutive marks measure the cost of a mark, which
  // is subtracted.
  void begin(size_t instruction, cudaStream_t stream);
  void end(size_t instruction, cudaStream_t stream);

  // Nanoseconds, one per instruction. The device has finished.
  void read(std::vector<int64_t>& nanoseconds) const;

 private:
  struct Begin {
    Event first{Event::Timing::on}, second{Event::Timing::on};
  };
  std::vector<std::optional<Begin>> begins_;
  std::vector<Event> ends_;
};

}  // namespace stoker::cuda
