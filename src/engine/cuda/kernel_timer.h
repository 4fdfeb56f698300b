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

  // An instruction begins where the one before it ended, unless it is told to begin here. Which
  // ones are told is the same in every run. Two marks in a row tell what a mark takes, which is not
  // the instructions' time.
  void begin(size_t instruction, cudaStream_t stream);
  void end(size_t instruction, cudaStream_t stream);

  // Nanoseconds, one an instruction. The device has finished.
  void read(std::vector<int64_t>& nanoseconds) const;

 private:
  struct Begin {
    Event first{Event::Timing::on}, second{Event::Timing::on};
  };
  std::vector<std::optional<Begin>> begins_;
  std::vector<Event> ends_;
};

}  // namespace stoker::cuda
