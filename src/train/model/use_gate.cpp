#include "train/model/use_gate.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

bool UseGate::shares(std::thread::id thread) const {
  return std::ranges::find(sharers_, thread) != sharers_.end();
}

bool UseGate::others_share(std::thread::id thread) const {
  return std::ranges::any_of(sharers_, [&](std::thread::id other) { return other != thread; });
}

bool UseGate::enter(const char* action, UseMode mode) {
  Lock lock(mutex_);
  if (owner_ == std::this_thread::get_id()) return false;
  if (mode == UseMode::shared)
    enter_shared(lock, action);
  else
    enter_alone(lock, action, mode);
  return true;
}

void UseGate::wait_for_owner(Lock& lock, const char* action) {
  while (owner_ != std::thread::id()) {
    if (lasting_)
      throw Error(
          fmt::format("{}: this model is in use by {} in another thread; wait until that has "
                      "ended, call from one of its callbacks, or use a copy of the model",
                      action, owner_action_));
    changed_.wait(lock);
  }
}

void UseGate::enter_shared(Lock& lock, const char* action) {
  std::thread::id self = std::this_thread::get_id();
  bool inside = shares(self);
  wait_for_owner(lock, action);
  while (!inside && waiting_owners_ > 0) {
    changed_.wait(lock);
    wait_for_owner(lock, action);
  }
  sharers_.push_back(self);
}

void UseGate::enter_alone(Lock& lock, const char* action, UseMode mode) {
  std::thread::id self = std::this_thread::get_id();
  if (shares(self) && (others_share(self) || waiting_owners_ > 0))
    throw Error(
        fmt::format("{}: called inside another use of this model while other threads use it too; "
                    "call it when that use has ended",
                    action));
  ++waiting_owners_;
  try {
    wait_for_owner(lock, action);
    while (others_share(self)) {
      changed_.wait(lock);
      wait_for_owner(lock, action);
    }
  } catch (...) {
    --waiting_owners_;
    changed_.notify_all();
    throw;
  }
  --waiting_owners_;
  owner_ = self;
  owner_action_ = action;
  lasting_ = mode == UseMode::lasting;
}

void UseGate::leave(UseMode mode) {
  {
    Lock lock(mutex_);
    if (mode == UseMode::shared)
      sharers_.erase(std::ranges::find(sharers_, std::this_thread::get_id()));
    else
      owner_ = {};
  }
  changed_.notify_all();
}

// Not in the header: inlined into std::optional, GCC 14 warns of members that nothing has set.
Use::~Use() {
  if (entered_) gate_.leave(mode_);
}

}  // namespace stoker
