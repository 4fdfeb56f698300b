// Input pipelines: where training data comes from and what happens to it on the way.
//   auto train = data::image_folder("photos/train")
//                    .shuffle()
//                    .map(image::decode_jpeg() | image::random_resized_crop(224))
//                    .batch(128)
//                    .prefetch(AUTOTUNE);
//   for (const Batch& batch : train) …
// A Dataset is an immutable description, cheap to copy: nothing runs, opens a file or starts a
// thread until it is iterated. Specs are checked where the chain is written. Randomness is
// keyed by (seed, epoch, element, function): the same elements come out bit for bit at any number
// of threads and after a resume.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/batch.h>
#include <stoker/dataset_options.h>
#include <stoker/image.h>
#include <stoker/typed_function.h>

namespace stoker {

class HostMemory;
struct Context;

namespace data {

class Node;
class Iterator;
using NodeRef = std::shared_ptr<const Node>;

// A number of elements: known, infinite, or unknown until they have been iterated.
struct Cardinality {
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> count;
  bool known() const { return count.has_value(); }
  bool infinite() const { return count == kInfinite; }
  friend bool operator==(const Cardinality&, const Cardinality&) = default;
};

struct IterateOptions {
  int64_t epoch = 0;       // the first
  int64_t epochs = 1;      // 0: endless
  std::string state = {};  // resume where Iterator::state() was taken
  // Replays what Iterator::order() gave: one epoch, random access only.
  std::vector<int64_t> order = {};
  const Context* context = nullptr;  // nullptr: the default one
  // Where elements are put together, unless Context::pin is off: pinned_memory() of function.h for
  // an own loop that feeds a GPU; nullptr: ordinary memory.
  HostMemory* memory = nullptr;
  // Only the rows of one rank, for own data-parallel loops; state() stays that of whole batches.
  // Elements that on_error(skip) leaves out make their batch shorter, so that all ranks have the same
  // number of batches.
  std::optional<BatchSlice> slice = {};
};

class Dataset {
 public:
  explicit Dataset(NodeRef node);

  const ElementSpec& spec() const;
  const ElementSpec& element_spec() const { return spec(); }
  Cardinality cardinality() const;
  bool random_access() const;  // element i can be made on its own

  // A function of elements (after batch: of batches). See typed_function.h for what it may be.
  template <typed::Callable F>
  Dataset map(F function, const MapOptions& options = {}) const {
    std::string name = options.name.empty() ? "function" : options.name;
    return map(std::make_shared<typed::Function<F>>(std::move(function), name, options.spec),
               options);
  }
  Dataset map(FunctionRef function, const MapOptions& options = {}) const;
  // On component 0; the others stay.
  Dataset map(const image::Op& op, const MapOptions& options = {}) const;
  Dataset map(size_t component, const image::Op& op, const MapOptions& options = {}) const;

  template <typed::Callable F>
  Dataset filter(F predicate, const FilterOptions& options = {}) const {
    std::string name = options.name.empty() ? "predicate" : options.name;
    return filter(std::make_shared<typed::Predicate<F>>(std::move(predicate), name), options);
  }
  Dataset filter(PredicateRef predicate, const FilterOptions& options = {}) const;

  // The elements before the first one for which the predicate is false.
  template <typed::Callable F>
  Dataset take_while(F predicate, const FilterOptions& options = {}) const {
    std::string name = options.name.empty() ? "predicate" : options.name;
    return take_while(std::make_shared<typed::Predicate<F>>(std::move(predicate), name), options);
  }
  Dataset take_while(PredicateRef predicate, const FilterOptions& options = {}) const;
  // The first of every element that occurs more than once. What was seen is kept in memory.
  Dataset unique() const;
  // A function from a state and an element to the next state and an element of `spec`. It is called
  // for one element after the other; every epoch begins with the initial state.
  using Scan = std::function<std::pair<Batch, Batch>(const Batch& state, const Batch& element)>;
  Dataset scan(Batch initial_state, ElementSpec spec, Scan function,
               const std::string& name = {}) const;
  // The last state of state = function(state, element) over the elements of epoch 0.
  template <class State, class F>
  State reduce(State state, F&& function) const;
  // Leaves elements out so that classes have the shares of target_dist, and puts their class in front,
  // int64[]. class_func numbers classes from 0.
  Dataset rejection_resample(ElementKey class_func, std::vector<double> target_dist,
                             const ResampleOptions& options = {}) const;

  // A function from an element to a Dataset; all of them have the spec of `spec`.
  using Expand = std::function<Dataset(const Batch& element)>;
  Dataset flat_map(ElementSpec spec, Expand function, const std::string& name = {}) const;
  Dataset interleave(ElementSpec spec, Expand function,
                     const InterleaveOptions& options = {}) const;
  // Elements with the same key, as many as make a window, become the elements of a dataset of `spec`.
  // Windows that are not full come at the end, by key.
  using ReduceGroup = std::function<Dataset(int64_t key, const Dataset& window)>;
  Dataset group_by_window(ElementSpec spec, ElementKey key_func, ReduceGroup reduce_func,
                          const GroupOptions& options) const;

  Dataset batch(int64_t size, const BatchOptions& options = {}) const;
  Dataset padded_batch(int64_t size, const PaddedBatchOptions& options = {}) const;
  // As tf.data: elements of similar length become a padded batch. Bucket i holds lengths below
  // boundaries[i] (ascending), the last one all others; a batch leaves it when it has batch_sizes[i]
  // elements, in the order in which buckets fill. At the end come the remainders, shortest first.
  Dataset bucket_by_sequence_length(std::vector<int64_t> boundaries,
                                    std::vector<int64_t> batch_sizes,
                                    const BucketOptions& options = {}) const;
  // Components of different lengths as two: their values one after the other, [total, …], and the
  // length of each row, int64 [B]. Others as batch.
  Dataset ragged_batch(int64_t size, const BatchOptions& options = {}) const;
  Dataset unbatch() const;
  // Batches of other sizes from the same rows; several sizes take turns.
  Dataset rebatch(int64_t size, const BatchOptions& options = {}) const;
  Dataset rebatch(std::vector<int64_t> sizes, const BatchOptions& options = {}) const;
  // Rows of `size` neighbours as one element, window after window. With random access an element
  // is made once for every window that it is in; cache() in front of it makes it once.
  Dataset window(int64_t size, const WindowOptions& options = {}) const;

  // Exact and global, in constant memory; needs random access.
  Dataset shuffle(const ShuffleOptions& options = {}) const;
  // From a window of `buffer` elements, as tf.data; works on streams.
  Dataset shuffle(int64_t buffer, const ShuffleOptions& options = {}) const;
  Dataset repeat(int64_t count = -1) const;  // -1: endless
  Dataset take(int64_t count) const;         // -1: all
  Dataset skip(int64_t count) const;
  Dataset shard(int64_t count, int64_t index) const;  // elements index, index + count, …
  Dataset concatenate(const Dataset& next) const;
  Dataset enumerate(int64_t start = 0) const;  // puts a component int64[] in front

  Dataset cache() const;  // in memory, as far as the budget goes
  // In files, complete after one epoch. It is rebuilt, with a line to Context::out that says why,
  // when the files, arrays or steps before it have changed. While another process fills it, and
  // where it cannot be written, elements are made without it.
  Dataset cache(const std::string& path, const CacheOptions& options = {}) const;
  Dataset prefetch(int64_t depth = AUTOTUNE) const;
  Dataset on_error(OnError policy, const ErrorOptions& options = {}) const;
  // Leaves out every element that cannot be made; Iterator::quarantine() lists them.
  Dataset ignore_errors() const {
    return on_error(OnError::skip, {.max_errors = std::numeric_limits<int64_t>::max()});
  }
  // States how many elements there are, for chains that do not know it; another number is an error of
  // the walk.
  Dataset assert_cardinality(int64_t count) const;
  Dataset with_budget(const Budget& budget) const;
  Dataset with_options(const DatasetOptions& options) const;
  DatasetOptions options() const;  // what with_options() has set
  // function(*this): transformations of your own in a chain.
  template <class F>
  auto apply(F&& function) const {
    return std::forward<F>(function)(*this);
  }

  // Repeats the first batches: how fast the consumer is when input is free.
  Dataset ceiling(int64_t batches = 8) const;

  // Writes every element of one epoch into packed shards at `path`, atomically; returns how many.
  int64_t save(const std::string& path) const;

  // The only element; ValueError when there are none or more.
  Batch get_single_element() const;

  Iterator iterate(const IterateOptions& options = {}) const;
  class Walk;
  // One epoch; the next call begins the next epoch. Copies of a Dataset count together.
  Walk begin() const;
  std::default_sentinel_t end() const { return {}; }
  // For fit, evaluate and predict.
  Batches batches() const;

  // The plan, and, once the dataset has been iterated, what was measured by the latest iteration.
  std::string explain() const;
  std::string explain_json() const;

  const NodeRef& node() const { return node_; }

 private:
  struct Observed;
  NodeRef node_;
  std::shared_ptr<Observed> observed_;
};

// One pass over a dataset, by one thread: concurrent calls of next() are an Error. Any number of
// iterators may be active, also on one dataset. Destroying one stops and joins its workers.
class Iterator {
 public:
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;
  ~Iterator();

  // The next element, valid until the next call (copies of the Batch stay valid); null at the end
  // of an epoch, after which the next one begins.
  const Batch* next();
  int64_t epoch() const;  // of what next() will return
  bool finished() const;  // all epochs are over

  // The position, for IterateOptions::state: small, and exact at any thread count.
  std::string state() const;
  // Which elements next() has returned in this epoch, by their numbers in the deterministic order;
  // kept for chains with deterministic = false, whose order is another each time.
  std::vector<int64_t> order() const;
  std::vector<BadElement> quarantine() const;
  std::string explain() const;
  std::string explain_json() const;

 private:
  friend class Dataset;
  class Impl;
  explicit Iterator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

template <class State, class F>
State Dataset::reduce(State state, F&& function) const {
  Iterator walk = iterate();
  while (const Batch* element = walk.next()) state = function(std::move(state), *element);
  return state;
}

// For range-for.
class Dataset::Walk {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;
  explicit Walk(Iterator iterator);
  const Batch& operator*() const { return *current_; }
  const Batch* operator->() const { return current_; }
  Walk& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Walk& walk, std::default_sentinel_t) {
    return walk.current_ == nullptr;
  }

 private:
  std::unique_ptr<Iterator> iterator_;
  const Batch* current_ = nullptr;
};

// --- sources ------------------------------------------------------------------------------------

// Rows of tensors that have the same number of them: element i is row i of each.
Dataset from_slices(std::vector<Tensor> columns);
Dataset from_slices(std::initializer_list<Tensor> columns);
Dataset from_slices(const Tensor& column);
// The same under tf.data's name.
inline Dataset from_tensor_slices(std::vector<Tensor> columns) {
  return from_slices(std::move(columns));
}
inline Dataset from_tensor_slices(std::initializer_list<Tensor> columns) {
  return from_slices(columns);
}
inline Dataset from_tensor_slices(const Tensor& column) { return from_slices(column); }
// One element, of all the tensors whole.
Dataset from_tensors(std::vector<Tensor> tensors);
// begin, begin + step, … below end, as int64[].
Dataset range(int64_t end);
Dataset range(int64_t begin, int64_t end, int64_t step = 1);

// `make` is called once per epoch; the generator it returns is called until it returns nothing.
using Generator = std::function<std::optional<Batch>()>;
Dataset from_generator(ElementSpec spec, std::function<Generator()> make,
                       const std::string& name = {});

// Paths that match, sorted, as bytes[]; `*` and `?` in the last part, `**` for any folders. Listed
// when the dataset is written.
Dataset files(const std::string& glob);
// The bytes of a file, for map: bytes[] path → bytes[] contents.
FunctionRef read_file();

struct ImageFolderOptions {
  std::vector<std::string> extensions = {".jpg", ".jpeg", ".png"};
  std::vector<std::string> class_names = {};  // none: the folder names, sorted
};
// A folder per class: elements (bytes[] encoded image, int64[] label).
Dataset image_folder(const std::string& path, const ImageFolderOptions& options = {});
// The classes of an image folder, in the order of their labels.
std::vector<std::string> class_names(const std::string& path);

// Arrays in IDX files, plain or gzip, one component each: idx({"train-images…", "train-labels…"}).
Dataset idx(const std::vector<std::string>& paths);

struct TfRecordOptions {
  bool check_crc = true;  // of the records' bytes; whether a file is compressed is seen by itself
};
// Records of files one after the other, as bytes[].
Dataset tfrecord(const std::vector<std::string>& paths, const TfRecordOptions& options = {});
// What a tf.train.Example holds, by name: for map on bytes[] records. A dimension of -1 takes what
// is there; a missing feature is an error unless it has a default.
struct Feature {
  std::string name;
  TensorSpec spec;
  std::optional<Tensor> fallback = {};
};
FunctionRef parse_example(std::vector<Feature> features);

struct LoadOptions {
  // False: records are read into memory and checked each time. For files that may change or vanish
  // under the run, which then is an error of an element; of a mapped file it ends the process.
  bool map = true;
};
// What Dataset::save wrote; random access.
Dataset load(const std::string& path, const LoadOptions& options = {});

// Elements of several datasets side by side, until the shortest ends.
Dataset zip(const std::vector<Dataset>& datasets);

}  // namespace data

}  // namespace stoker
