// Who may use a model at the same time. Calls that read its weights (predict, evaluate, model(x),
// save) share it. Calls that change the weights or the programs (fit, train_on_batch, compile,
// load_weights) have it alone: short ones wait for their turn, while a fit refuses every other
// thread for as long as it lasts. A thread that is inside may enter again: callbacks predict,
// evaluate and save inside fit. Thread-safe; entering costs an uncontended mutex and allocates
// nothing in the steady state.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace stoker {

enum class UseMode : uint8_t {
  shared,
  alone,
  lasting,  // alone, and others get an Error instead of waiting
};

class UseGate {
 public:
  UseGate() { sharers_.reserve(16); }
  // action: a literal, for errors. Whether there is something to leave: false inside a use that has
  // the model alone.
  bool enter(const char* action, UseMode mode);
  void leave(UseMode mode);

 private:
  using Lock = std::unique_lock<std::mutex>;
  bool shares(std::thread::id thread) const;
  bool others_share(std::thread::id thread) const;
  void enter_shared(Lock& lock, const char* action);
  void enter_alone(Lock& lock, const char* action, UseMode mode);
  void wait_for_owner(Lock& lock, const char* action);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread::id owner_ = {};  // who has it alone
  const char* owner_action_ = "";
  bool lasting_ = false;
  int waiting_owners_ = 0;                // newcomers let them go first
  std::vector<std::thread::id> sharers_;  // once per use
};

// One use, while it lives.
class Use {
 public:
  Use(UseGate& gate, const char* action, UseMode mode)
      : gate_(gate), mode_(mode), entered_(gate.enter(action, mode)) {}
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  UseGate& gate_;
  UseMode mode_;
  bool entered_;
};

}  // namespace stoker
