// What a fit does when a device cannot hold a step: FitArgs::on_out_of_memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "train/fit/feed.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {

class MemoryPolicy {
 public:
  // A fit begins with whole batches, and leaves no parts to what follows.
  // ValueError where parts are asked for and the model trains on several devices.
  MemoryPolicy(ModelBase& model, const FitArgs& args);
  ~MemoryPolicy() { model_.trainer->parts = {}; }
  MemoryPolicy(const MemoryPolicy&) = delete;
  MemoryPolicy& operator=(const MemoryPolicy&) = delete;

  // Whose batches lie on the host beside the program; null: arrays that no feed has yet.
  void set_feed(const Feed* feed) { feed_ = feed; }

  // A step that is tried: its inputs, of which `rows` samples make a batch.
  struct Tried {
    StepKind kind;
    std::span<const Tensor> inputs;
    int64_t rows;
  };
  // Calls `step`, which throws before it changes anything when it does not fit; then again with
  // smaller parts, where that is asked for. OutOfMemoryError says what holds how much, and which
  // batch fits.
  template <class Step>
  void attempt(const Tried& tried, const Step& step) {
    for (;;) try {
        return step();
      } catch (const OutOfMemoryError& error) {
        use_smaller_parts(tried, error);
      }
  }

 private:
  void use_smaller_parts(const Tried& tried, const OutOfMemoryError& error);
  [[noreturn]] void fail(const Tried& tried, const OutOfMemoryError& error) const;
  int64_t fitting_batch(const Tried& tried) const;
  std::string host_holds(const Tried& tried) const;
  void say(const std::string& line) const;

  ModelBase& model_;
  const FitArgs& args_;
  const Feed* feed_ = nullptr;
};

}  // namespace stoker
