// A region: work that one pass over memory does. For every element of its iteration space it loads
// operands through index maps, computes a few scalars, and stores results; or reduces one of the
// scalars over the innermost counter and goes on with the result. It has no CUDA in it: codegen.h
// prints it, and the tests interpret it.
#pragma once

#include <string>
#include <vector>

#include <stoker/dtype.h>

#include "engine/cuda/fuser/index.h"
#include "graph/unary_fn.h"

namespace stoker::fuser {

enum class Operation : uint8_t {
  load,      // operand `slot` at `place`, where all `ranges` hold; else anything
  constant,  // `alpha`
  unary,     // fn(a)
  slope,     // b · fn'(a)
  binary,    // the function called `name`, of a and b
  compare,   // likewise
  select,    // a ? b : c
  guard,     // all `ranges` hold ? a : b
  cast,      // a as `dtype`
  round,     // a as memory of `dtype` would hold it
  reduced,   // the reduction's result
};

struct Scalar {
  Operation operation = Operation::constant;
  DType dtype = DType::float32;  // floats are computed in float32, whatever this says
  int a = -1, b = -1, c = -1;    // other scalars, which come before
  UnaryFn fn = UnaryFn::abs;
  double alpha = 0, beta = 0;
  std::string name = {};
  size_t slot = 0;
  Index place = {};
  std::vector<Range> ranges = {};
  bool varies = false;  // with the counter of what is reduced
};

enum class Reduction : uint8_t { none, sum, mean, max, min, prod };

struct Store {
  int value = -1;  // of the graph
  DType dtype = DType::float32;
  int scalar = -1;
};

struct Region {
  int64_t kept = 1, gone = 1;  // extents of the two counters; gone: 1 without a reduction
  Reduction reduction = Reduction::none;
  bool rows = false;  // the innermost axis of what is reduced goes
  int reduces = -1;   // the scalar that is reduced
  std::vector<Scalar> scalars;
  struct Operand {
    int value;  // of the graph
    DType dtype;
  };
  std::vector<Operand> operands;
  Store store;  // element k of the result

  double bytes = 0;  // that it moves: what it needs of each operand once, and the result
};

}  // namespace stoker::fuser
