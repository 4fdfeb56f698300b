// Makes element functions from ordinary C++ functions and lambdas. Their parameter and result types
// say what they take and give:
//   parameters  numbers (a scalar component of that dtype; double reads float32)
//               std::string, std::string_view (bytes)
//               Tensor, ConstTensorView (any component; valid during the call)
//               TensorView, after the others: a result written in place, with {.spec = …}
//               Rng&, last: random numbers keyed by seed, epoch, element and function
//   results     the same types, std::vector<T> (one dimension), Batch, or a tuple or pair of them;
//               double becomes float32 and unsigned integers int64 (Stored, dtype.h)
// A Tensor result has the spec of the component at its place unless {.spec = …} says otherwise.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/batch.h>
#include <stoker/element.h>

namespace stoker::data {

namespace typed {

template <class T>
inline constexpr bool is_number =
    std::is_arithmetic_v<T> || std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_text =
    std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;
template <class T>
inline constexpr bool is_any = std::is_same_v<T, Tensor> || std::is_same_v<T, ConstTensorView>;

// The errors; not inline in every instantiation.
[[noreturn]] void wrong_arity(const std::string& name, size_t takes, const ElementSpec& in);
[[noreturn]] void wrong_argument(const std::string& name, size_t index, std::string_view wanted,
                                 const ElementSpec& in);
[[noreturn]] void missing_spec(const std::string& name, const char* why);
// The declared spec, or the spec that the input has at that place.
TensorSpec spec_of_tensor_result(const std::string& name, size_t index, const ElementSpec& in,
                                 const std::optional<ElementSpec>& declared);
// The declared spec of a component whose dtype the C++ type gives.
TensorSpec spec_of_typed_result(const std::string& name, size_t index, DType dtype,
                                const Shape& shape, const std::optional<ElementSpec>& declared);
void check_declared_size(const std::string& name, size_t results,
                         const std::optional<ElementSpec>& declared);
// A tensor on borrowed memory, valid during the call: for arguments.
Tensor borrowed(const ConstTensorView& view);

// How a parameter of type T reads a component. Specialise it to pass your own view types.
template <class T>
struct Argument {
  static_assert(is_number<T> || is_text<T> || is_any<T>,
                "a function of a dataset takes numbers, std::string, std::string_view, Tensor or "
                "ConstTensorView; results to write as TensorView, then Rng&");
  static bool fits(const TensorSpec& spec) {
    if constexpr (is_any<T>)
      return true;
    else if constexpr (is_text<T>)
      return spec.dtype == DType::bytes && spec.shape.rank() == 0;
    else
      return spec.dtype == dtype_of<ReadAs<T>> && spec.shape.rank() == 0;
  }
  static std::string wanted() {
    if constexpr (is_any<T>)
      return "any component";
    else if constexpr (is_text<T>)
      return "bytes[]";
    else
      return std::string(stoker::name(dtype_of<ReadAs<T>>)) + "[]";
  }
  static T read(const ConstTensorView& view) {
    if constexpr (std::is_same_v<T, Tensor>)
      return borrowed(view);
    else if constexpr (std::is_same_v<T, ConstTensorView>)
      return view;
    else if constexpr (is_text<T>)
      return *static_cast<const std::string*>(view.data);
    else
      return T(*static_cast<const ReadAs<T>*>(view.data));
  }
};

// How a result of type T is described and written.
template <class T>
struct Result {
  static_assert(is_number<T> || is_text<T> || is_any<T>,
                "a function of a dataset returns numbers, std::string, Tensor, std::vector of "
                "numbers, Batch, or a tuple of them");
  static TensorSpec spec(const std::string& name, size_t index, const ElementSpec& in,
                         const std::optional<ElementSpec>& declared) {
    if constexpr (is_any<T>)
      return spec_of_tensor_result(name, index, in, declared);
    else if constexpr (is_text<T>)
      return spec_of_typed_result(name, index, DType::bytes, {}, declared);
    else
      return spec_of_typed_result(name, index, dtype_of<Stored<T>>, {}, declared);
  }
  static void write(T&& value, size_t index, ElementWriter& out) {
    if constexpr (is_any<T>) {
      // Copied with the bytes: a scratch writer must not keep a view on a result that dies here.
      TensorView place{ConstTensorView(value).dtype, ConstTensorView(value).shape, nullptr};
      place.data = out.put(index, place.dtype, place.shape);
      copy_values(ConstTensorView(value), place);
    } else if constexpr (is_text<T>) {
      *static_cast<std::string*>(out.put(index, DType::bytes, {})) = std::move(value);
    } else {
      *static_cast<Stored<T>*>(out.put(index, dtype_of<Stored<T>>, {})) = stored(value);
    }
  }
};
template <class T>
struct Result<std::vector<T>> {
  static TensorSpec spec(const std::string& name, size_t index, const ElementSpec&,
                         const std::optional<ElementSpec>& declared) {
    return spec_of_typed_result(name, index, dtype_of<Stored<T>>, {-1}, declared);
  }
  static void write(std::vector<T>&& value, size_t index, ElementWriter& out) {
    void* memory = out.put(index, dtype_of<Stored<T>>, {int64_t(value.size())});
    auto* place = static_cast<Stored<T>*>(memory);
    for (size_t i = 0; i < value.size(); ++i) {
      if constexpr (std::is_same_v<T, std::string>)
        place[i] = std::move(value[i]);
      else
        place[i] = stored<T>(value[i]);
    }
  }
};

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

template <class Tuple>
using Indices = std::make_index_sequence<std::tuple_size_v<Tuple>>;

// The specs of what a function returns.
template <class Return>
ElementSpec result_specs(const std::string& name, const ElementSpec& in,
                         const std::optional<ElementSpec>& declared) {
  if constexpr (std::is_same_v<Return, Batch>) {
    if (!declared) missing_spec(name, "it returns a Batch");
    return *declared;
  } else if constexpr (IsTuple<Return>::value) {
    check_declared_size(name, std::tuple_size_v<Return>, declared);
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return ElementSpec{Result<std::remove_cvref_t<std::tuple_element_t<I, Return>>>::spec(
          name, I, in, declared)...};
    }
    (Indices<Return>());
  } else {
    check_declared_size(name, 1, declared);
    return {Result<Return>::spec(name, 0, in, declared)};
  }
}

template <class Return>
void write_results(Return value, ElementWriter& out) {
  using Plain = Return;
  if constexpr (std::is_same_v<Plain, Batch>) {
    for (size_t i = 0; i < value.size(); ++i) Result<Tensor>::write(Tensor(value[i]), i, out);
  } else if constexpr (IsTuple<Plain>::value) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      (Result<std::remove_cvref_t<std::tuple_element_t<I, Plain>>>::write(
           std::move(std::get<I>(value)), I, out),
       ...);
    }
    (Indices<Plain>());
  } else {
    Result<Plain>::write(std::move(value), 0, out);
  }
}

// The signature of a callable that is not overloaded and not generic.
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... P>
struct Signature<R (*)(P...)> {
  using Return = R;
  using Parameters = std::tuple<P...>;
};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...)> : Signature<R (*)(P...)> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const> : Signature<R (*)(P...)> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) noexcept> : Signature<R (*)(P...)> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const noexcept> : Signature<R (*)(P...)> {};

template <class F>
concept Callable = std::is_pointer_v<std::decay_t<F>> || requires {
  &std::decay_t<F>::operator();
};

// The parameters of F, sorted: inputs, then places to write (TensorView), then Rng&.
template <class F>
struct Parameters {
  using All = typename Signature<std::decay_t<F>>::Parameters;
  using Return = std::remove_cvref_t<typename Signature<std::decay_t<F>>::Return>;
  template <size_t I>
  using At = std::tuple_element_t<I, All>;

  static constexpr size_t count = std::tuple_size_v<All>;
  static constexpr bool random = [] {
    if constexpr (count == 0)
      return false;
    else
      return std::is_same_v<At<count - 1>, Rng&>;
  }();
  static constexpr size_t written = [] {
    return []<size_t... I>(std::index_sequence<I...>) {
      return (size_t(0) + ... + size_t(std::is_same_v<std::remove_cvref_t<At<I>>, TensorView>));
    }
    (std::make_index_sequence<count>());
  }();
  static constexpr size_t inputs = count - written - size_t(random);
  template <size_t I>
  using Input = std::remove_cvref_t<At<I>>;

  static void check(const std::string& name, const ElementSpec& in) {
    if (in.size() != inputs) wrong_arity(name, inputs, in);
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((Argument<Input<I>>::fits(in[I])
            ? void()
            : wrong_argument(name, I, Argument<Input<I>>::wanted(), in)),
       ...);
    }
    (std::make_index_sequence<inputs>());
  }

  // Calls function(inputs…, places…, rng).
  static decltype(auto) call(const std::decay_t<F>& function, std::span<const ConstTensorView> in,
                             std::span<const TensorView> places, Rng& rng) {
    return [&]<size_t... I, size_t... W>(std::index_sequence<I...>, std::index_sequence<W...>)
        ->decltype(auto) {
      if constexpr (random)
        return function(Argument<Input<I>>::read(in[I])..., places[W]..., rng);
      else
        return function(Argument<Input<I>>::read(in[I])..., places[W]...);
    }
    (std::make_index_sequence<inputs>(), std::make_index_sequence<written>());
  }
};

template <class F>
class Function final : public ElementFunction {
 public:
  using P = Parameters<F>;
  static_assert(P::written == 0 || std::is_void_v<typename P::Return>,
                "a function that writes into TensorView returns nothing");
  static_assert(P::written > 0 || !std::is_void_v<typename P::Return>,
                "a function of map returns its result, or writes it into TensorView parameters");

  Function(F function, std::string name, std::optional<ElementSpec> declared)
      : function_(std::move(function)), name_(std::move(name)), declared_(std::move(declared)) {}

  std::string name() const override { return name_; }
  bool is_random() const override { return P::random; }

  ElementSpec infer(const ElementSpec& in) const override {
    P::check(name_, in);
    if constexpr (P::written > 0) {
      check_declared_size(name_, P::written, declared_);
      ElementSpec specs;
      for (size_t i = 0; i < P::written; ++i)
        specs.push_back(spec_of_tensor_result(name_, i, in, declared_));
      for (const TensorSpec& spec : specs)
        if (!spec.shape.is_known()) missing_spec(name_, "it writes into TensorView");
      return specs;
    } else {
      return result_specs<typename P::Return>(name_, in, declared_);
    }
  }

  void apply(std::span<const ConstTensorView> in, ElementWriter& out, Rng& rng) const override {
    if constexpr (P::written > 0) {
      TensorView places[P::written];
      for (size_t i = 0; i < P::written; ++i) {
        if (declared_)
          places[i] = {
              .dtype = (*declared_)[i].dtype, .shape = (*declared_)[i].shape, .data = nullptr};
        else
          places[i] = {.dtype = in[i].dtype, .shape = in[i].shape, .data = nullptr};
        places[i].data = out.put(i, places[i].dtype, places[i].shape);
      }
      P::call(function_, in, places, rng);
    } else {
      write_results(P::call(function_, in, {}, rng), out);
    }
  }

 private:
  F function_;
  std::string name_;
  std::optional<ElementSpec> declared_;
};

template <class F>
class Predicate final : public ElementPredicate {
 public:
  using P = Parameters<F>;
  static_assert(std::is_convertible_v<typename P::Return, bool> && P::written == 0,
                "a predicate returns bool");
  Predicate(F function, std::string name)
      : function_(std::move(function)), name_(std::move(name)) {}
  void check(const ElementSpec& in) const override { P::check(name_, in); }
  bool test(std::span<const ConstTensorView> in, Rng& rng) const override {
    return P::call(function_, in, {}, rng);
  }
  bool is_random() const override { return P::random; }

 private:
  F function_;
  std::string name_;
};

}  // namespace typed

}  // namespace stoker::data
