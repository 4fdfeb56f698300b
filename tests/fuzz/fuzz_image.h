// Any bytes as an encoded picture, through several chains: each gives a picture or an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <stoker/image.h>

namespace stoker::test {

inline constexpr int64_t kMostPixels = 1 << 20;  // keeps one input fast

inline void attempt(std::span<const image::Op> ops, const uint8_t* data, size_t size) {
  Tensor in(DType::bytes, {});
  in.data_mut<std::string>()->assign(reinterpret_cast<const char*>(data), size);
  for (const image::Op& op : ops) {
    Rng rng(1);
    try {
      op(in, rng);
    } catch (const Error&) {
    }
  }
}

}  // namespace stoker::test
