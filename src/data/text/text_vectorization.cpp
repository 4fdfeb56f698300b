// TextVectorization: documents to indices or columns.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/text.h>

#include "data/text/adapting.h"
#include "data/text/splitter.h"
#include "data/text/step.h"
#include "data/text/text_files.h"

namespace stoker::text {

namespace {

constexpr const char* kVectorization = "TextVectorization";

bool splits(const TextVectorizationOptions& options) {
  const auto* split = std::get_if<Split>(&options.split);
  return split == nullptr || *split != Split::none;
}

// The shape of the documents in texts of a shape: every text is one, or, without a split, every row.
Shape documents_in(const Shape& texts, bool split) {
  std::vector<int64_t> extents(texts.begin(), texts.end());
  if (split ? texts.rank() > 1 : texts.rank() > 0) extents.pop_back();
  return Shape(extents);
}

void check_texts(const TensorSpec& in, bool split) {
  if (in.dtype != DType::bytes)
    throw ShapeError(
        fmt::format("{}: got {}; expected texts, bytes", kVectorization, to_string(in)));
  if (split && in.shape.rank() > 1 && in.shape[-1] != 1)
    throw ShapeError(
        fmt::format("{}: got {}; texts that are split are a scalar, a list, or have a last "
                    "dimension of 1",
                    kVectorization, to_string(in)));
}

// Calls visit with the tokens of one document after the other.
template <class Visit>
void each_document(const Splitter& splitter, const ConstTensorView& in, bool split, Visit&& visit) {
  thread_local SplitScratch scratch;
  auto texts = in.values<std::string>();
  if (split) {
    for (const std::string& text : texts) visit(splitter.tokens(text, scratch));
    return;
  }
  size_t length = in.shape.rank() == 0 ? 1 : size_t(in.shape[-1]);
  for (size_t at = 0; at < texts.size(); at += length)
    visit(splitter.tokens(texts.subspan(at, length), scratch));
}

class VectorizeStep final : public Step {
 public:
  VectorizeStep(TextVectorizationOptions options,
                std::shared_ptr<const Vocabulary<std::string>> vocabulary)
      : options_(std::move(options)),
        splitter_(options_),
        vocabulary_(std::move(vocabulary)),
        split_(splits(options_)) {}

  std::string name() const override { return kVectorization; }
  std::string identity() const override {
    bool described = std::holds_alternative<Standardize>(options_.standardize) &&
                     std::holds_alternative<Split>(options_.split);
    if (!described) return {};
    return fmt::format("{} {} {:016x}", kVectorization, dump_report(options_to_json(options_)),
                       vocabulary_->checksum());
  }

  TensorSpec infer(const TensorSpec& in) const override {
    check_texts(in, split_);
    if (is_plain_lookup()) return {DType::int64, in.shape};
    std::vector<int64_t> extents;
    for (int64_t extent : documents_in(in.shape, split_)) extents.push_back(extent);
    if (options_.output_mode != OutputMode::int_)
      extents.push_back(vocabulary_->columns());
    else
      extents.push_back(options_.output_sequence_length.value_or(-1));
    return {output_dtype(), Shape(extents)};
  }

  void run(const ConstTensorView& in, Place& out) const override {
    if (options_.output_mode != OutputMode::int_) return columns(in, out);
    if (options_.output_sequence_length) return cut(in, *options_.output_sequence_length, out);
    uncut(in, out);
  }

 private:
  DType output_dtype() const {
    return options_.output_mode == OutputMode::int_ ? DType::int64 : DType::float32;
  }
  // Tokens that stay where they are.
  bool is_plain_lookup() const {
    return !split_ && options_.ngrams.widths().empty() && !options_.output_sequence_length &&
           options_.output_mode == OutputMode::int_;
  }
  static Shape with(const Shape& documents, int64_t last) {
    std::vector<int64_t> extents(documents.begin(), documents.end());
    extents.push_back(last);
    return Shape(extents);
  }

  void columns(const ConstTensorView& in, Place& out) const {
    Shape shape = with(documents_in(in.shape, split_), vocabulary_->columns());
    auto* row = static_cast<float*>(out.put(DType::float32, shape));
    thread_local std::vector<int64_t> indices;
    each_document(splitter_, in, split_, [&](std::span<const std::string_view> tokens) {
      indices.clear();
      for (std::string_view token : tokens) indices.push_back(vocabulary_->index_of(token));
      vocabulary_->encode(indices, options_.output_mode, row);
      row += vocabulary_->columns();
    });
  }

  void cut(const ConstTensorView& in, int64_t length, Place& out) const {
    auto* to =
        static_cast<int64_t*>(out.put(DType::int64, with(documents_in(in.shape, split_), length)));
    each_document(splitter_, in, split_, [&](std::span<const std::string_view> tokens) {
      size_t kept = std::min(tokens.size(), size_t(length));
      for (size_t at = 0; at < kept; ++at) to[at] = vocabulary_->index_of(tokens[at]);
      std::fill(to + kept, to + length, 0);
      to += length;
    });
  }

  // As long as the longest document.
  void uncut(const ConstTensorView& in, Place& out) const {
    thread_local std::vector<int64_t> indices;
    thread_local std::vector<size_t> ends;
    indices.clear(), ends.clear();
    size_t longest = 0;
    each_document(splitter_, in, split_, [&](std::span<const std::string_view> tokens) {
      for (std::string_view token : tokens) indices.push_back(vocabulary_->index_of(token));
      ends.push_back(indices.size());
      longest = std::max(longest, tokens.size());
    });
    Shape shape =
        is_plain_lookup() ? in.shape : with(documents_in(in.shape, split_), int64_t(longest));
    auto* to = static_cast<int64_t*>(out.put(DType::int64, shape));
    size_t begin = 0;
    for (size_t end : ends) {
      std::copy(indices.begin() + std::ptrdiff_t(begin), indices.begin() + std::ptrdiff_t(end), to);
      std::fill(to + (end - begin), to + longest, 0);
      to += longest;
      begin = end;
    }
  }

  TextVectorizationOptions options_;
  Splitter splitter_;
  std::shared_ptr<const Vocabulary<std::string>> vocabulary_;
  bool split_;
};

void check_vectorization(const TextVectorizationOptions& options) {
  Splitter checked(options);
  if (options.output_mode == OutputMode::one_hot)
    throw ValueError(
        "TextVectorization: one_hot is a mode of StringLookup; expected int_, "
        "multi_hot, count or tf_idf");
  if (!options.output_sequence_length) return;
  if (options.output_mode != OutputMode::int_)
    throw ValueError("TextVectorization: output_sequence_length needs output_mode int_");
  int64_t length = *options.output_sequence_length;
  if (length < 1 || length > INT32_MAX)
    throw ValueError(fmt::format(
        "TextVectorization: output_sequence_length is {}, expected 1 to {}", length, INT32_MAX));
}

}  // namespace

TextVectorization::TextVectorization(const Options& options) : options_(options) {
  check_vectorization(options_);
  check_options(kVectorization, lookup_options(options_));
  if (!options_.vocabulary.empty()) set_vocabulary(options_.vocabulary, options_.idf_weights);
}

void TextVectorization::adapt(const data::Dataset& dataset, const AdaptOptions& adapting) {
  if (!options_.vocabulary.empty())
    throw ValueError("TextVectorization: adapt, but it was given a vocabulary");
  bool split = splits(options_);
  check_texts(adapted_component(kVectorization, dataset, adapting), split);
  Splitter splitter(options_);
  TokenCounter<std::string> counter;
  auto count = [&](std::span<const std::string_view> tokens) {
    counter.begin_document();
    for (std::string_view token : tokens) counter.add(token);
  };
  walk_component(dataset, adapting,
                 [&](const Tensor& texts) { each_document(splitter, texts, split, count); });
  vocabulary_ = counter.vocabulary(kVectorization, lookup_options(options_));
}

void TextVectorization::adapt(const Tensor& texts) {
  // Without a split, values of a list are a document each, as Keras's.
  bool list = texts.shape().rank() == 1;
  adapt(data::from_tensors({list ? texts.reshape({texts.shape()[0], 1}) : texts}));
}

void TextVectorization::adapt(const std::vector<std::string>& texts) {
  adapt(Tensor::from(texts, {int64_t(texts.size())}));
}

void TextVectorization::set_vocabulary(const std::vector<std::string>& vocabulary,
                                       const std::vector<double>& idf_weights) {
  vocabulary_ = given_vocabulary(kVectorization, lookup_options(options_), vocabulary, idf_weights);
}

void TextVectorization::set_vocabulary_from_file(const std::string& path) {
  set_vocabulary(tokens_of_file(path, std::type_identity<std::string>()));
}

std::vector<std::string> TextVectorization::get_vocabulary(const VocabularyOptions& which) const {
  return all_tokens(lookup_options(options_), vocabulary_.get(), which);
}

int64_t TextVectorization::vocabulary_size() const {
  return vocabulary_ ? vocabulary_->size() : first_index(lookup_options(options_));
}

std::vector<double> TextVectorization::idf_weights() const {
  if (!vocabulary_) return {};
  return {vocabulary_->weights().begin(), vocabulary_->weights().end()};
}

TensorSpec TextVectorization::infer(const TensorSpec& in) const {
  return VectorizeStep(options_, known(kVectorization, vocabulary_)).infer(in);
}

Tensor TextVectorization::operator()(const Tensor& texts) const {
  return run_step(VectorizeStep(options_, known(kVectorization, vocabulary_)), texts);
}

Tensor TextVectorization::operator()(const std::vector<std::string>& texts) const {
  return (*this)(Tensor::from(texts, {int64_t(texts.size())}));
}

Tensor TextVectorization::operator()(std::string_view text) const {
  return (*this)(Tensor::from({std::string(text)}, {}));
}

std::vector<std::string> TextVectorization::tokens(std::string_view text) const {
  SplitScratch scratch;
  auto tokens = Splitter(options_).tokens(text, scratch);
  return {tokens.begin(), tokens.end()};
}

data::FunctionRef TextVectorization::on(size_t component) const {
  auto step = std::make_shared<VectorizeStep>(options_, known(kVectorization, vocabulary_));
  return as_function(std::move(step), component);
}

void TextVectorization::save(const std::string& path) const {
  const auto& vocabulary = *known(kVectorization, vocabulary_);
  write_file_atomically(path,
                        lookup_to_json(kVectorization, options_to_json(options_), vocabulary));
}

TextVectorization TextVectorization::load(const std::string& path) {
  return read_text_file(path, [&](std::string_view text) {
    auto loaded = vectorization_from_json(text);
    TextVectorization vectorize(loaded.options);
    vectorize.vocabulary_ = std::move(loaded.vocabulary);
    return vectorize;
  });
}

}  // namespace stoker::text
