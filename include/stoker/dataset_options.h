// The options of a dataset's transformations (dataset.h), and of how its chain runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <stoker/batch.h>
#include <stoker/element.h>

namespace stoker {

// "Measure and choose for me", for parallel and prefetch.
inline constexpr int64_t AUTOTUNE = -1;

namespace data {

struct MapOptions {
  std::string name = {};                 // for messages and explain()
  int64_t parallel = AUTOTUNE;           // elements made concurrently; 1: sequentially
  bool deterministic = true;             // false: elements may come out of order
  std::optional<ElementSpec> spec = {};  // of the result, where the C++ types do not say it
  // After batch: row i of the result depends on row i alone. A rank of several then makes only its own
  // rows; otherwise every rank makes whole batches and keeps its rows.
  bool per_row = false;
};
struct FilterOptions {
  std::string name = {};
};
struct InterleaveOptions {
  int64_t cycle = 4;            // datasets open at the same time
  int64_t block = 1;            // consecutive elements taken from each
  int64_t parallel = AUTOTUNE;  // datasets prefetched concurrently; 1: none
  std::string name = {};
};
struct BatchOptions {
  bool drop_remainder = false;
};
struct WindowOptions {
  std::optional<int64_t> shift = {};  // elements from one window to the next; none: its size
  int64_t stride = 1;                 // elements from one row of a window to the next
  bool drop_remainder = false;        // false: the last windows may have fewer rows
};
struct PaddedBatchOptions {
  // Lengths that an unknown dimension is rounded up to, ascending, at most 32; longer elements
  // are an error. None: to the longest element of the batch.
  std::vector<int64_t> lengths = {};
  int64_t multiple_of = 1;  // rounds it up to a multiple instead: fewer shapes, fewer programs
  // Shapes that elements are padded to, one per component; a longer element is an error, -1: as
  // above. None: unknown dimensions are padded.
  std::vector<Shape> padded_shapes = {};
  double padding_value = 0;
  std::vector<double> padding_values = {};  // instead of it, one per component
  bool mask = false;  // adds a component bool [B, length]: true where component 0 has values
  bool drop_remainder = false;
};
// The length of an element.
using ElementLength = std::function<int64_t(const Batch& element)>;
struct BucketOptions {
  ElementLength length = {};  // none: the first extent of component 0
  // Pads unknown dimensions to the longest length of the bucket, its boundary - 1, instead of the
  // longest element of the batch; an element that is not below the last boundary is then an error.
  bool pad_to_bucket_boundary = false;
  std::vector<double> padding_values = {};  // one, or one per component; none: 0
  bool mask = false;                        // as PaddedBatchOptions::mask
  bool drop_remainder = false;              // drops what is left in the buckets at the end
  std::string name = {};
};
// A number that an element is grouped or sampled by.
using ElementKey = std::function<int64_t(const Batch& element)>;
struct GroupOptions {
  int64_t window_size = 0;                                    // elements in a group
  std::function<int64_t(int64_t key)> window_size_func = {};  // instead of it, by key
  std::string name = {};
};
struct ResampleOptions {
  std::vector<double> initial_dist = {};  // shares of the classes; none: estimated on the way
  std::optional<uint64_t> seed = {};      // none: follows the dataset's
};
struct CacheOptions {
  // For functions in front of the cache, which it cannot look into: change it with what they
  // compute. Empty: the cache is rebuilt whenever a program that holds such functions was.
  std::string version = {};
};
struct ShuffleOptions {
  std::optional<uint64_t> seed = {};  // none: follows the dataset's
  bool reshuffle_each_epoch = true;
};

// What happens when an element cannot be made: a corrupt file, an exception of a map function.
enum class OnError {
  fail,     // the exception arrives in the consumer
  replace,  // by another element of the same epoch, chosen by key; random access only
  skip,     // leave it out
};
struct ErrorOptions {
  int64_t max_errors = 1000;  // per epoch; one more is an error
  double max_rate = 1.0;      // of the epoch's elements so far, checked from the 100th on
};
// An element that could not be made.
struct BadElement {
  int64_t epoch = 0, index = 0;
  std::string message;
};

// Limits of a pipeline, enforced by back-pressure. 0: chosen from what the machine has.
struct Budget {
  int cores = 0;
  int64_t bytes = 0;
};
// How the ranks of a data-parallel training share a dataset; tf.data's names. `data` and `automatic`
// give the same whole batches for any number of ranks, and those of one process; the others do not.
enum class AutoShardPolicy {
  automatic,  // as data, and says where sharing files would save work
  file,       // every file is read by one rank: other batches for another number of ranks
  data,       // rows of every batch: with random access only they are made, else all ranks read all
  off,        // every rank walks the whole dataset, and its batches are its part of a larger one
};
struct DatasetOptions {
  std::string name = {};
  std::optional<uint64_t> seed = {};  // none: the default context's
  // Runs the chain exactly as written: no fusion, no added prefetch, no tuning, no pinned memory.
  // For comparisons.
  bool as_written = false;
  std::string tuned = {};  // a file to load tuned settings from and save them to
  std::optional<AutoShardPolicy> auto_shard_policy = {};  // none: automatic
};

}  // namespace data

}  // namespace stoker
