// Control flow in a graph, which is built once and runs as it is: both branches of a condition are
// computed, and a loop has a length. All of it has gradients. ops::scan is in <stoker/ops.h>. At the
// end, forward derivatives of functions.
#pragma once

#include <functional>
#include <vector>

#include <stoker/value.h>

namespace stoker::ops {

// Both branches are computed (as jax.vmap and select do), and the results of one are taken: guard
// what may not be finite in the other. `condition`: bool [].
Values cond(const Value& condition, const std::function<Values()>& if_true,
            const std::function<Values()>& if_false);
Value cond(const Value& condition, const std::function<Value()>& if_true,
           const std::function<Value()>& if_false);
// Branch number `index` (int []), the nearest where there is none; all are computed.
Values switch_(const Value& index, const std::vector<std::function<Values()>>& branches);

using LoopBody = std::function<Values(const Values& variables)>;
using LoopCondition = std::function<Value(const Values& variables)>;  // bool []
// body(i, variables) for i in [lower, upper).
Values fori_loop(int64_t lower, int64_t upper,
                 const std::function<Values(const Value& i, const Values& variables)>& body,
                 const Values& variables);
// At most `maximum_iterations` steps. Once the condition has failed the CPU stops; a GPU, which never
// asks the host, runs the other steps without an effect. Both for the loop and for its gradient.
struct While {
  int64_t maximum_iterations = 0;  // must be given
};
Values while_loop(const LoopCondition& condition, const LoopBody& body, const Values& variables,
                  const While& options);
// f of every slice of dimension 0, stacked.
Value map(const std::function<Value(const Value& slice)>& f, const Value& x);
Values map(const std::function<Values(const Values& slices)>& f, const Values& x);
Value vectorized_map(const std::function<Value(const Value& slice)>& f, const Value& x);
// f(f(x0, x1), x2) … of the slices along an axis, all of them kept. f must be associative; it is
// called about 2 log2(n) times, on whole ranges of slices.
using Associative = std::function<Values(const Values& a, const Values& b)>;
Values associative_scan(const Associative& f, const Values& x, int axis = 0);

// --- derivatives along a direction -------------------------------------------------------------
struct Jvp {
  Values outputs;   // f(primals)
  Values tangents;  // the derivative of each along the tangents
};
// The product of f's Jacobian with the tangents, one per primal, of its shape. It is the derivative of
// a derivative, so what f is made of needs second derivatives; ops that are linear have them.
Jvp jvp(const std::function<Values(const Values& primals)>& f, const Values& primals,
        const Values& tangents);

}  // namespace stoker::ops
