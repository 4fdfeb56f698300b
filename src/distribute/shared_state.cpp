#include "distribute/shared_state.h"

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker::distribute {

namespace {

// A variable whose contents another process has. What is written here stays until drop().
class KeptElsewhere final : public Residence {
 public:
  KeptElsewhere(std::string name, int process) : name_(std::move(name)), process_(process) {}
  Tensor read() const override {
    if (!contents_.defined())
      throw Error(fmt::format(
          "\"{}\" is on process {} only: the strategy shards the optimiser's state. It is whole on "
          "process 0 when an epoch of fit has ended, and on all processes after fit; train "
          "without shard_optimizer to read or save it at any time",
          name_, process_));
    return contents_.clone();
  }
  void write(const Tensor& value) override { contents_ = value.clone(); }
  void drop() { contents_ = {}; }

 private:
  std::string name_;
  int process_;
  Tensor contents_;
};

}  // namespace

void SharedState::stepped() {
  if (one_process()) return;
  held_ = Held::by_keepers;
  for (const auto& [state, rank] : shards_->kept()) {
    int process = process_of(rank);
    if (process == transport_->process()) continue;
    if (auto* elsewhere = dynamic_cast<KeptElsewhere*>(state.residence().get()))
      elsewhere->drop();
    else
      Variable(state).move_to(std::make_shared<KeptElsewhere>(state.name(), process));
  }
}

void SharedState::collect(StateAt at) {
  bool everywhere = at == StateAt::all_processes;
  Held wanted = everywhere ? Held::everywhere : Held::by_first;
  if (one_process() || held_ >= wanted) return;
  int own = transport_->process();
  for (const auto& [state, rank] : shards_->kept()) {
    int process = process_of(rank);
    if (!everywhere && process == 0) continue;
    Tensor contents = process == own ? state.read() : Tensor(state.dtype(), state.shape());
    transport_->broadcast(contents.raw_mut(), contents.bytes(), process);
    if (process != own && (everywhere || own == 0)) Variable(state).write(contents);
  }
  held_ = wanted;
}

int SharedState::source_of(const Variable& variable) const {
  int64_t rank = shards_->keeper_of(variable);
  return rank < 0 || held_ != Held::by_keepers ? 0 : process_of(rank);
}

}  // namespace stoker::distribute
