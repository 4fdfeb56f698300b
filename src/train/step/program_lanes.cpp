#include "train/step/program_lanes.h"

#include <algorithm>

#include "base/cores.h"

namespace stoker {

namespace {

// More than a device runs at a time would only take its memory.
size_t most_lanes(const Context& context) {
  int lanes = traits_of(context).lanes;
  return size_t(lanes > 0 ? lanes : std::max(2, available_cores()));
}

}  // namespace

ProgramCache& ProgramLanes::take(const Context& context) {
  std::unique_lock lock(mutex_);
  std::thread::id self = std::this_thread::get_id();
  while (true) {
    auto free = std::ranges::find(lanes_, std::thread::id(), &Lane::holder);
    // A function inside a program may call the model again: it must not wait for itself.
    bool inside = std::ranges::find(lanes_, self, &Lane::holder) != lanes_.end();
    if (free == lanes_.end() && (inside || lanes_.size() < most_lanes(context))) {
      Lane lane{.own = std::make_unique<ProgramCache>()};
      lane.programs = lane.own.get();
      free = lanes_.insert(lanes_.end(), std::move(lane));
    }
    if (free != lanes_.end()) {
      free->holder = self;
      return *free->programs;
    }
    freed_.wait(lock);
  }
}

ProgramCache& ProgramLanes::take_main() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return lanes_[0].holder == std::thread::id(); });
  lanes_[0].holder = std::this_thread::get_id();
  return *lanes_[0].programs;
}

void ProgramLanes::give_back(const ProgramCache& programs) {
  {
    std::lock_guard lock(mutex_);
    std::ranges::find(lanes_, &programs, &Lane::programs)->holder = {};
  }
  freed_.notify_all();
}

size_t ProgramLanes::size() const {
  std::lock_guard lock(mutex_);
  return lanes_.size();
}

void ProgramLanes::clear() {
  std::lock_guard lock(mutex_);
  lanes_.erase(lanes_.begin() + 1, lanes_.end());
}

}  // namespace stoker
