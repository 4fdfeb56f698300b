// Text and time series as training data: sources for datasets, and steps that turn text into
// numbers.
//
//   auto lines = data::text_folder("reviews/train");
//   text::TextVectorization vectorize({.max_tokens = 20'000, .output_sequence_length = 200});
//   vectorize.adapt(lines);
//   auto train = lines.shuffle().map(vectorize).batch(32);
//   Embedding embed(vectorize.vocabulary_size(), 128, {.mask_zero = true});
//
// Texts are strings of bytes (DType::bytes), in UTF-8. Options, defaults and results are those of
// Keras 3; where they differ, a comment says so.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <stoker/dataset.h>

namespace stoker::data {

// --- texts --------------------------------------------------------------------------------------

// What happens to text that is not UTF-8.
enum class InvalidUtf8 : uint8_t {
  fail,     // an error of the element, which names the file, the line and the byte
  replace,  // U+FFFD in its place
  keep,     // the bytes stay
};

struct TextLinesOptions {
  InvalidUtf8 invalid_utf8 = InvalidUtf8::fail;
  int64_t max_line_bytes = int64_t(1) << 26;  // a longer line is an error
  // True: plain files are read once when the dataset is written, and give random access (exact
  // shuffle, known length, resume at once). False, and whenever a file is gzip: a stream.
  bool index = true;
};
// Lines of files one after the other, plain or gzip, as bytes[], without "\n" or "\r\n". Empty lines
// are elements; a byte order mark is left out. Memory: a thousandth of the files' size.
Dataset text_lines(const std::string& path, const TextLinesOptions& options = {});
Dataset text_lines(const std::vector<std::string>& paths, const TextLinesOptions& options = {});
Dataset text_lines(std::initializer_list<std::string> paths, const TextLinesOptions& options = {});

enum class Subset : uint8_t { all, training, validation };

struct TextFolderOptions {
  std::vector<std::string> extensions = {".txt"};
  std::vector<std::string> class_names = {};  // none: the folder names, sorted
  std::optional<int64_t> max_length = {};     // bytes of a text that are kept
  double validation_split = 0;                // share of the files; needs a subset
  Subset subset = Subset::all;
  uint64_t seed = 0;  // of the split; the same for both subsets
  InvalidUtf8 invalid_utf8 = InvalidUtf8::fail;
};
// A folder per class with a text per file, subfolders included, sorted: elements (bytes[] text,
// int64[] label). class_names() lists the classes. Random access: shuffle() shuffles all of it.
Dataset text_folder(const std::string& path, const TextFolderOptions& options = {});

// --- time series --------------------------------------------------------------------------------

struct TimeseriesOptions {
  int64_t sequence_stride = 1;  // rows from one window to the next
  int64_t sampling_rate = 1;    // rows from one step of a window to the next
  int64_t batch_size = 128;     // 0: windows one by one
  bool shuffle = false;         // exact, anew every epoch
  std::optional<uint64_t> seed = {};
  std::optional<int64_t> start_index = {};  // of the rows that are used
  std::optional<int64_t> end_index = {};    // behind the last one
};
// Windows of `sequence_length` rows of `series`, as Keras's timeseries_dataset_from_array. With
// targets: (window, target), where the target of a window is the row of `targets` with the number of
// the window's first row. To forecast h steps ahead: timeseries_windows(x, x.slice(length + h - 1,
// rows), length). Rows are read in place: no window is in memory before its batch is made.
Dataset timeseries_windows(const Tensor& series, int64_t sequence_length,
                           const TimeseriesOptions& options = {});
Dataset timeseries_windows(const Tensor& series, const Tensor& targets, int64_t sequence_length,
                           const TimeseriesOptions& options = {});

}  // namespace stoker::data

namespace stoker::text {

// --- lookups ------------------------------------------------------------------------------------

// What comes out for tokens. Only int_ keeps their order.
enum class OutputMode : uint8_t {
  int_,       // int64 indices, in the shape of the tokens
  one_hot,    // float32 [..., vocabulary] for each token
  multi_hot,  // float32 [vocabulary] for the last dimension: 1 where a token occurs
  count,      // how often it occurs
  tf_idf,     // how often, times its weight
};

// Where tokens go that are not in the vocabulary, when there are several places for them.
enum class OovMethod : uint8_t {
  floormod,  // the number modulo the places; integers only
  farmhash,  // FarmHash64 of its text, or SipHash64 with a salt
};

template <class Token>
struct LookupOptions {
  static constexpr bool kIsText = std::is_same_v<Token, std::string>;
  static Token default_oov() {
    if constexpr (kIsText)
      return "[UNK]";
    else
      return -1;
  }

  std::optional<int64_t> max_tokens = {};  // of the vocabulary with its special tokens
  int64_t num_oov_indices = 1;             // 0: a token that is not in the vocabulary is an error
  std::optional<Token> mask_token = {};    // int_: index 0; other modes: left out
  Token oov_token = default_oov();         // what invert gives for an unknown index
  std::vector<Token> vocabulary = {};      // none: adapt, or set_vocabulary
  std::vector<double> idf_weights = {};    // tf_idf: one per entry of vocabulary
  bool invert = false;                     // indices to tokens; int_ only
  OutputMode output_mode = OutputMode::int_;
  bool pad_to_max_tokens = false;  // max_tokens columns, whatever the vocabulary holds
  OovMethod oov_method = kIsText ? OovMethod::farmhash : OovMethod::floormod;
  std::optional<std::pair<uint64_t, uint64_t>> salt = {};
};
using StringLookupOptions = LookupOptions<std::string>;
using IntegerLookupOptions = LookupOptions<int64_t>;

struct AdaptOptions {
  size_t component = 0;  // of the dataset's elements
};
struct VocabularyOptions {
  bool include_special_tokens = true;  // the mask and the places for unknown tokens
};

template <class Token>
class Vocabulary;  // defined inside the library

// Tokens to indices, by a vocabulary that is given or counted. A value, cheap to copy; a copy, and a
// dataset that maps it, keep the vocabulary that it has then. Calls from many threads are safe, but
// not during adapt and set_vocabulary.
template <class Token>
class Lookup {
 public:
  using Options = LookupOptions<Token>;
  explicit Lookup(const Options& options = {});

  // Counts the tokens of one epoch and makes the most frequent ones the vocabulary; of equally
  // frequent ones the greater comes first. In tf_idf mode the last dimension is a document.
  void adapt(const data::Dataset& dataset, const AdaptOptions& options = {});
  void adapt(const Tensor& tokens);
  void set_vocabulary(const std::vector<Token>& vocabulary,
                      const std::vector<double>& idf_weights = {});
  // One token per line.
  void set_vocabulary_from_file(const std::string& path);

  std::vector<Token> get_vocabulary(const VocabularyOptions& options = {}) const;
  int64_t vocabulary_size() const;  // with the special tokens: the input_dim of an Embedding
  std::vector<double> idf_weights() const;  // one per column; tf_idf only
  const Options& options() const { return options_; }

  TensorSpec infer(const TensorSpec& in) const;
  Tensor operator()(const Tensor& tokens) const;
  Tensor operator()(const std::vector<Token>& tokens) const;

  // As a step of Dataset::map, on component 0 or another; the others stay.
  operator data::FunctionRef() const { return on(0); }
  data::FunctionRef on(size_t component) const;

  // Options and vocabulary as JSON. A file is not trusted: whatever is in it, loading ends in a
  // lookup or in a FileError.
  void save(const std::string& path) const;
  static Lookup load(const std::string& path);

 private:
  Options options_;
  std::shared_ptr<const Vocabulary<Token>> vocabulary_;
};
extern template class Lookup<std::string>;
extern template class Lookup<int64_t>;

using StringLookup = Lookup<std::string>;
using IntegerLookup = Lookup<int64_t>;  // takes tensors of any integer dtype

// --- text to tokens to numbers ------------------------------------------------------------------

// Both treat ASCII only, as Keras does.
enum class Standardize : uint8_t { lower_and_strip_punctuation, lower, strip_punctuation, none };
using StandardizeFunction = std::function<std::string(std::string_view text)>;

enum class Split : uint8_t {
  whitespace,  // of ASCII
  character,   // of UTF-8
  none,        // a text is a token
};
using SplitFunction = std::function<std::vector<std::string>(std::string_view text)>;

// Which runs of neighbouring tokens become tokens: 2 stands for single ones and pairs, {2} for
// pairs.
class Ngrams {
 public:
  Ngrams() = default;  // none
  Ngrams(int64_t up_to);
  Ngrams(std::initializer_list<int64_t> widths) : widths_(widths) {}
  explicit Ngrams(std::vector<int64_t> widths) : widths_(std::move(widths)) {}
  const std::vector<int64_t>& widths() const { return widths_; }

 private:
  std::vector<int64_t> widths_;
};

struct TextVectorizationOptions {
  std::optional<int64_t> max_tokens = {};
  std::variant<Standardize, StandardizeFunction> standardize =
      Standardize::lower_and_strip_punctuation;
  std::variant<Split, SplitFunction> split = Split::whitespace;
  Ngrams ngrams = {};
  OutputMode output_mode = OutputMode::int_;
  std::optional<int64_t> output_sequence_length = {};  // int_: cut and filled up with 0 to it
  bool pad_to_max_tokens = false;
  std::vector<std::string> vocabulary = {};
  std::vector<double> idf_weights = {};
};

// Texts to numbers: standardised, split into tokens, looked up. Index 0 is padding and 1 stands for
// unknown tokens; in the other modes column 0 is for unknown tokens. A text bytes[] becomes
// int64[length], texts bytes[n] become int64[n, length of the longest]; multi_hot, count and tf_idf
// give float32[vocabulary], where Keras's layer gives integers for the first two.
class TextVectorization {
 public:
  using Options = TextVectorizationOptions;
  explicit TextVectorization(const Options& options = {});

  // As Lookup's.
  void adapt(const data::Dataset& dataset, const AdaptOptions& options = {});
  void adapt(const Tensor& texts);
  void adapt(const std::vector<std::string>& texts);
  void set_vocabulary(const std::vector<std::string>& vocabulary,
                      const std::vector<double>& idf_weights = {});
  void set_vocabulary_from_file(const std::string& path);
  std::vector<std::string> get_vocabulary(const VocabularyOptions& options = {}) const;
  int64_t vocabulary_size() const;
  std::vector<double> idf_weights() const;
  const Options& options() const { return options_; }

  TensorSpec infer(const TensorSpec& in) const;
  Tensor operator()(const Tensor& texts) const;
  Tensor operator()(const std::vector<std::string>& texts) const;
  Tensor operator()(std::string_view text) const;
  // What a text is cut into, before the lookup.
  std::vector<std::string> tokens(std::string_view text) const;

  operator data::FunctionRef() const { return on(0); }
  data::FunctionRef on(size_t component) const;

  // ValueError for own functions, which no file can hold.
  void save(const std::string& path) const;
  static TextVectorization load(const std::string& path);

 private:
  Options options_;
  std::shared_ptr<const Vocabulary<std::string>> vocabulary_;
};

}  // namespace stoker::text
