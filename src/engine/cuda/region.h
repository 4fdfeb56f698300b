// Places in one stretch of memory: first fit, neighbours that are free become one. Pure arithmetic
// on offsets; whoever owns the memory adds its address.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <optional>

namespace stoker::cuda {

class Region {
 public:
  explicit Region(size_t bytes) {
    if (bytes > 0) free_[0] = bytes;
  }

  std::optional<size_t> take(size_t bytes) {
    for (auto place = free_.begin(); place != free_.end(); ++place) {
      auto [offset, size] = *place;
      if (size < bytes) continue;
      free_.erase(place);
      if (size > bytes) free_[offset + bytes] = size - bytes;
      return offset;
    }
    return std::nullopt;
  }

  void give_back(size_t offset, size_t bytes) {
    if (bytes == 0) return;
    auto place = free_.emplace(offset, bytes).first;
    if (auto next = std::next(place); next != free_.end() && offset + bytes == next->first) {
      place->second += next->second;
      free_.erase(next);
    }
    if (place == free_.begin()) return;
    auto before = std::prev(place);
    if (before->first + before->second != offset) return;
    before->second += place->second;
    free_.erase(place);
  }

  size_t largest() const {
    size_t most = 0;
    for (auto [offset, size] : free_) most = size > most ? size : most;
    return most;
  }

 private:
  std::map<size_t, size_t> free_;  // offset → bytes
};

}  // namespace stoker::cuda
