// Runs a model, or any ops, with other values in place of variables: whatever reads one of them meanwhile
// gets the value, through which gradients flow. PyTorch's torch.func.functional_call, Keras's
// stateless_call; for the inner steps of MAML, for weights that another network makes.
//
//   Values fast;  // the weights after a step of gradient descent
//   for (size_t i = 0; i < weights.size(); ++i) fast.push_back(Value(weights[i]) - slopes[i] * 0.1);
//   Value loss = with_values(weights, fast, [&] { return mean_squared_error(y, model(x)); });
//
// The variables stay as they are. A Value of one of them that was taken before keeps its contents, and an
// update of one of them in the body is an Error. Inside function(), Layer::call and own steps of fit.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <vector>

#include <stoker/value.h>

namespace stoker {

// One value per variable, of its shape, else a ShapeError or ValueError. Gives what the body returns.
Values with_values(const std::vector<Variable>& variables, const Values& values,
                   const std::function<Values()>& body);
// The same for a body that returns one Value, or Values.
template <class F>
requires std::is_invocable_v<F&>
auto with_values(const std::vector<Variable>& variables, const Values& values, F body) {
  using Result = std::invoke_result_t<F&>;
  if constexpr (std::convertible_to<Result, Value>)
    return with_values(variables, values,
                       std::function<Values()>([&] { return Values{Value(body())}; }))[0];
  else
    return with_values(variables, values, std::function<Values()>([&] { return body(); }));
}

}  // namespace stoker
