#include <stoker/variable.h>

#include <array>
#include <atomic>

#include <fmt/format.h>

#include "graph/mask_changes.h"

namespace stoker {

// The contents are in `host` until an engine takes them, then in `residence`.
struct Variable::State {
  std::string name;
  TensorSpec spec;
  Options options;
  Tensor host;
  std::shared_ptr<Residence> residence;
  Variable mask = {};
};

namespace {

std::atomic<uint64_t> changed_masks = 0;

}  // namespace

uint64_t mask_changes() { return changed_masks.load(std::memory_order_relaxed); }

std::string_view name(MemoryCategory category) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "weights", "gradients", "optimizer", "activations", "workspace", "inputs", "metrics"};
  return kNames.at(size_t(category));
}

Variable::Variable(std::string name, Tensor initial)
    : Variable(std::move(name), std::move(initial), Options{}) {}

Variable::Variable(std::string name, Tensor initial, Options options) {
  if (!initial.defined())
    throw ValueError(
        fmt::format("variable \"{}\" needs an initial value, got an undefined tensor", name));
  TensorSpec spec = initial.spec();
  state_ = std::make_shared<State>(
      State{std::move(name), std::move(spec), options, std::move(initial), nullptr, {}});
}

const std::string& Variable::name() const { return state_->name; }

void Variable::rename(std::string name) { state_->name = std::move(name); }

const TensorSpec& Variable::spec() const {
  if (!defined())
    throw Error("an undefined Variable has no shape; construct it with an initial value");
  return state_->spec;
}

MemoryCategory Variable::category() const { return state_->options.category; }

bool Variable::trainable() const { return state_->options.trainable; }

void Variable::set_trainable(bool trainable) { state_->options.trainable = trainable; }

Tensor Variable::read() const {
  return state_->residence ? state_->residence->read() : state_->host.clone();
}

void Variable::write(const Tensor& value) {
  if (!value.defined() || value.spec() != spec())
    throw ShapeError(
        fmt::format("variable \"{}\" holds {}, cannot take {}", name(), to_string(spec()),
                    value.defined() ? to_string(value.spec()) : "an undefined tensor"));
  if (state_->residence)
    state_->residence->write(value);
  else
    state_->host = value.clone();
}

const Variable& Variable::mask() const { return state_->mask; }

void Variable::set_mask(const Variable& mask) {
  if (mask.defined() && mask.spec() != TensorSpec{DType::bool_, shape()})
    throw ShapeError(fmt::format("variable \"{}\" holds {}; its mask cannot be {}", name(),
                                 to_string(spec()), to_string(mask.spec())));
  state_->mask = mask;
  changed_masks.fetch_add(1, std::memory_order_relaxed);
}

const std::shared_ptr<Residence>& Variable::residence() const { return state_->residence; }

void Variable::move_to(std::shared_ptr<Residence> residence) {
  // Back to the host: the contents must come along before their holder goes.
  if (residence == nullptr && state_->residence != nullptr)
    state_->host = state_->residence->read();
  if (residence != nullptr) state_->host = {};
  state_->residence = std::move(residence);
}

}  // namespace stoker
