// Chains of dataset operations described twice by one object: as a Dataset, and as a naive function
// from an epoch to its elements, one after the other, in one thread, with everything in memory. The
// two share nothing but the functions that key random numbers. Elements are lists of numbers and
// texts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/dataset.h>

namespace stoker::test {

struct Value {
  std::vector<int64_t> shape;
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;  // instead of numbers
  bool is_text = false;
  friend bool operator==(const Value&, const Value&) = default;
};
using Element = std::vector<Value>;
std::string to_string(const Element& element);
Element element_of(const Batch& batch);

// An element under the name that keys its random numbers, or the message of why there is none.
struct Item {
  int64_t epoch = 0, index = 0;
  Element element = {};
  std::string error = {};
};
using Items = std::vector<Item>;

struct Keys {
  uint64_t seed = 0, branch = 0;
};

class Step {
 public:
  virtual ~Step() = default;
  virtual data::Dataset dataset() const = 0;
  virtual Items items(int64_t epoch, const Keys& keys) const = 0;
  virtual std::string text() const = 0;
  // How many steps that count in the keys of random numbers stand up to here.
  virtual uint64_t depth() const = 0;
};
using StepRef = std::shared_ptr<const Step>;

// A random chain of up to `steps` operations. The same generator gives the same chain. `errors`:
// some functions throw for some elements.
struct ChainOptions {
  int steps = 8;
  bool errors = true;
};
StepRef draw_chain(Rng& rng, const ChainOptions& options);

// --- single steps, for tests that want a certain chain ---

StepRef range_step(int64_t begin, int64_t end, int64_t step);

}  // namespace stoker::test
