// Custom training loops: a function of Values is traced once per set of input specs, compiled into
// one program with gradients and updates, and replayed from then on.
//
//   auto train_step = function([&](Value x, Value y) {
//     Value loss = sparse_categorical_crossentropy(y, model(x));
//     optimizer.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
//     return loss;
//   });
//   double loss = train_step(x, y);
//
// Reads and updates happen in program order: after apply() or Variable::assign() the variable reads
// as new, and two updates both count. What the function refers to must outlive it.
// Not thread-safe: a call during another call is an Error.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <stoker/context.h>
#include <stoker/value.h>

namespace stoker {

// A result of a step, read back on demand; reading waits for the device. It stays valid after later
// calls of the function.
class LazyTensor {
 public:
  LazyTensor() = default;
  Tensor tensor() const;
  double item() const;  // of a scalar
  operator double() const { return item(); }

 private:
  friend class TracedFunction;
  struct State;
  explicit LazyTensor(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

struct FunctionOptions {
  bool training = true;  // dropout drops, batch normalisation looks at its batch
  std::string name = "function";
  Context* context = nullptr;  // null: the default one
  // Inside a strategy's scope: on all of its devices, each with its rows of every argument (scalars
  // go to all). apply() averages gradients over the devices, and so are results, but for those that
  // have a row per sample, which are joined. false: on one device.
  bool replicated = true;
};

// The function behind function(), without its types.
class TracedFunction {
 public:
  using Body = std::function<Values(const Values&)>;
  TracedFunction(Body body, FunctionOptions options);
  std::vector<LazyTensor> call(std::span<const Tensor> inputs) const;
  size_t traces() const;  // how often the body was traced

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

namespace detail {

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  static constexpr size_t kArity = sizeof...(A);
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

template <class F, size_t... I>
Values call_body(F& body, const Values& inputs, std::index_sequence<I...>) {
  using Result = typename Signature<F>::Result;
  if constexpr (std::is_void_v<Result>) {
    body(inputs[I]...);
    return {};
  } else if constexpr (std::convertible_to<Result, Value>) {
    return {body(inputs[I]...)};
  } else {
    return body(inputs[I]...);
  }
}

}  // namespace detail

// What function() returns: callable with as many tensors as the body has parameters. Gives a
// LazyTensor where the body gives one Value, a list of them where it gives Values, nothing where it
// gives nothing.
template <class Result, size_t Arity>
class Function {
 public:
  explicit Function(TracedFunction traced) : traced_(std::move(traced)) {}

  template <std::convertible_to<Tensor>... Inputs>
  auto operator()(const Inputs&... inputs) const {
    static_assert(sizeof...(Inputs) == Arity, "as many tensors as the function has parameters");
    std::vector<LazyTensor> results = traced_.call(std::vector<Tensor>{inputs...});
    if constexpr (std::is_void_v<Result>) {
      return;
    } else if constexpr (std::convertible_to<Result, Value>) {
      return results[0];
    } else {
      return results;
    }
  }
  size_t traces() const { return traced_.traces(); }

 private:
  TracedFunction traced_;
};

// For IterateOptions::memory of a dataset whose batches feed a function: memory that the context's
// device copies from during the previous step; ordinary memory on a CPU. Opens the device.
class HostMemory;
HostMemory& pinned_memory(const Context& context = default_context());

// body: Value or const Value& parameters; returns Value, Values or nothing.
template <class F>
auto function(F body, const FunctionOptions& options = {}) {
  using Signature = detail::Signature<F>;
  auto erased = [body = std::move(body)](const Values& inputs) mutable {
    return detail::call_body(body, inputs, std::make_index_sequence<Signature::kArity>());
  };
  return Function<typename Signature::Result, Signature::kArity>(
      TracedFunction(std::move(erased), options));
}

// Ops outside of a function: traces the body, runs it once, in inference mode, and forgets it.
//   Tensor distances = compute([&] { return ops::norm(a - b, {.axes = {1}}); });
// For what runs in a loop, function() is faster: it is traced once.
Tensor compute(const std::function<Value()>& body, Context* context = nullptr);

}  // namespace stoker
