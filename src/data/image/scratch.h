// Memory of one thread that is kept from picture to picture. All of it is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace stoker::image {

// What all Buffers hold together.
size_t scratch_bytes();

class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { release(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // At least so many bytes, uninitialised, aligned to 64; old contents are lost when it grows.
  uint8_t* need(size_t bytes);
  template <class T>
  T* need_of(size_t count) {
    return reinterpret_cast<T*>(need(count * sizeof(T)));
  }
  void release();
  // One panorama must not hold its memory for the rest of the run.
  void trim() {
    if (capacity_ > kKept) release();
  }

 private:
  static constexpr size_t kKept = size_t(64) << 20;

  std::unique_ptr<uint8_t[]> memory_;
  uint8_t* aligned_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace stoker::image
