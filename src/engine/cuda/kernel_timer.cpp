#include "engine/cuda/kernel_timer.h"

#include <algorithm>
#include <limits>

namespace stoker::cuda {

namespace {

// A mark that can be read from outside of what is being captured.
void record(const Event& event, cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "looking for a capture");
  bool captured = status == cudaStreamCaptureStatusActive;
  check(cudaEventRecordWithFlags(event.get(), stream,
                                 captured ? cudaEventRecordExternal : cudaEventRecordDefault),
        "marking a kernel");
}

int64_t between(const Event& from, const Event& to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, from.get(), to.get()), "timing a kernel");
  return int64_t(double(ms) * 1e6);
}

}  // namespace

KernelTimer::KernelTimer(size_t instructions) : begins_(instructions) {
  ends_.reserve(instructions);
  for (size_t i = 0; i < instructions; ++i) ends_.emplace_back(Event::Timing::on);
}

void KernelTimer::begin(size_t instruction, cudaStream_t stream) {
  if (!begins_[instruction]) begins_[instruction].emplace();
  record(begins_[instruction]->first, stream);
  record(begins_[instruction]->second, stream);
}

void KernelTimer::end(size_t instruction, cudaStream_t stream) {
  record(ends_[instruction], stream);
}

void KernelTimer::read(std::vector<int64_t>& nanoseconds) const {
  nanoseconds.assign(ends_.size(), 0);
  int64_t mark = std::numeric_limits<int64_t>::max();
  for (const std::optional<Begin>& begin : begins_)
    if (begin) mark = std::min(mark, between(begin->first, begin->second));
  for (size_t i = 0; i < ends_.size(); ++i) {
    const Event& from = begins_[i] ? begins_[i]->second : ends_[i - 1];
    nanoseconds[i] = std::max<int64_t>(between(from, ends_[i]) - mark, 0);
  }
}

}  // namespace stoker::cuda
