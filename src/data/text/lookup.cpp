// StringLookup and IntegerLookup.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/text.h>

#include "base/convert.h"
#include "base/visit_dtype.h"
#include "data/text/adapting.h"
#include "data/text/step.h"
#include "data/text/text_files.h"
#include "data/text/vocabulary.h"

namespace stoker::text {

namespace {

template <class Token>
constexpr const char* kLookupName =
    LookupOptions<Token>::kIsText ? "StringLookup" : "IntegerLookup";

// Values of one dtype as tokens, without a copy where they are that already.
std::span<const std::string> tokens_in(const ConstTensorView& in, std::vector<std::string>&) {
  return in.values<std::string>();
}
std::span<const int64_t> tokens_in(const ConstTensorView& in, std::vector<int64_t>& memory) {
  if (in.dtype == DType::int64) return in.values<int64_t>();
  visit_numeric(in.dtype, [&]<class T>(std::type_identity<T>) {
    memory.clear();
    for (T value : in.values<T>()) memory.push_back(convert<int64_t>(value));
  });
  return memory;
}

// Tokens as indices or columns.
template <class Token>
class LookupStep final : public Step {
 public:
  LookupStep(LookupOptions<Token> options, std::shared_ptr<const Vocabulary<Token>> vocabulary)
      : options_(std::move(options)), vocabulary_(std::move(vocabulary)) {}

  std::string name() const override { return kLookupName<Token>; }
  std::string identity() const override {
    return fmt::format("{} {} {:016x}", name(), dump_report(options_to_json(options_)),
                       vocabulary_->checksum());
  }

  TensorSpec infer(const TensorSpec& in) const override {
    bool text = LookupOptions<Token>::kIsText && !options_.invert;
    if (text ? in.dtype != DType::bytes : !is_integer(in.dtype))
      throw ShapeError(fmt::format("{}: got {}; expected {}", name(), to_string(in),
                                   text ? "texts, bytes" : "integers"));
    if (options_.output_mode == OutputMode::int_)
      return {options_.invert ? dtype_of<Token> : DType::int64, in.shape};
    return {DType::float32, columns_shape(in.shape)};
  }

  void run(const ConstTensorView& in, Place& out) const override {
    if (options_.invert) return invert(in, out);
    thread_local std::vector<Token> memory;
    auto tokens = tokens_in(in, memory);
    if (options_.output_mode == OutputMode::int_) {
      auto* to = static_cast<int64_t*>(out.put(DType::int64, in.shape));
      for (const Token& token : tokens) *to++ = vocabulary_->index_of(token);
      return;
    }
    std::vector<int64_t> indices;
    for (const Token& token : tokens) indices.push_back(vocabulary_->index_of(token));
    Shape shape = columns_shape(in.shape);
    auto* row = static_cast<float*>(out.put(DType::float32, shape));
    bool single = options_.output_mode == OutputMode::one_hot;
    size_t length = single ? 1 : in.shape.rank() == 0 ? 1 : size_t(in.shape[-1]);
    int64_t rows = shape.elements() / std::max<int64_t>(vocabulary_->columns(), 1);
    for (int64_t at = 0; at < rows; ++at, row += vocabulary_->columns())
      vocabulary_->encode(std::span(indices).subspan(size_t(at) * length, length),
                          options_.output_mode, row);
  }

 private:
  Shape columns_shape(const Shape& in) const {
    bool one_hot = options_.output_mode == OutputMode::one_hot;
    std::vector<int64_t> extents(in.begin(), in.end());
    bool drop = one_hot ? in.rank() > 1 && in[-1] == 1 : in.rank() > 0;
    if (drop) extents.pop_back();
    extents.push_back(vocabulary_->columns());
    return Shape(extents);
  }
  void invert(const ConstTensorView& in, Place& out) const {
    std::vector<int64_t> memory;
    auto* to = static_cast<Token*>(out.put(dtype_of<Token>, in.shape));
    for (int64_t index : tokens_in(in, memory)) *to++ = vocabulary_->token_of(index);
  }

  LookupOptions<Token> options_;
  std::shared_ptr<const Vocabulary<Token>> vocabulary_;
};

template <class Token>
void count_tokens(const Tensor& tokens, TokenCounter<Token>& counter) {
  std::vector<Token> memory;
  auto values = tokens_in(tokens, memory);
  size_t length = tokens.shape().rank() == 0 ? 1 : size_t(tokens.shape()[-1]);
  for (size_t at = 0; at < values.size(); ++at) {
    if (at % length == 0) counter.begin_document();
    counter.add(values[at]);
  }
}

template <class Token>
void check_tokens(const TensorSpec& spec) {
  bool text = LookupOptions<Token>::kIsText;
  if (text ? spec.dtype != DType::bytes : !is_integer(spec.dtype))
    throw ShapeError(fmt::format("{}: adapt got {}; expected {}", kLookupName<Token>,
                                 to_string(spec), text ? "texts, bytes" : "integers"));
}

template <class Token>
void check_adaptable(const LookupOptions<Token>& options) {
  if (!options.vocabulary.empty())
    throw ValueError(fmt::format("{}: adapt, but it was given a vocabulary", kLookupName<Token>));
}

}  // namespace

template <class Token>
Lookup<Token>::Lookup(const Options& options) : options_(options) {
  check_options(kLookupName<Token>, options_);
  if (!options_.vocabulary.empty()) set_vocabulary(options_.vocabulary, options_.idf_weights);
}

template <class Token>
void Lookup<Token>::adapt(const data::Dataset& dataset, const AdaptOptions& adapting) {
  check_adaptable(options_);
  check_tokens<Token>(adapted_component(kLookupName<Token>, dataset, adapting));
  TokenCounter<Token> counter;
  walk_component(dataset, adapting, [&](const Tensor& tokens) { count_tokens(tokens, counter); });
  vocabulary_ = counter.vocabulary(kLookupName<Token>, options_);
}

template <class Token>
void Lookup<Token>::adapt(const Tensor& tokens) {
  check_adaptable(options_);
  check_tokens<Token>(tokens.spec());
  TokenCounter<Token> counter;
  // As Keras's: values of a list are a document each.
  bool list = tokens.shape().rank() == 1;
  count_tokens(list ? tokens.reshape({tokens.shape()[0], 1}) : tokens, counter);
  vocabulary_ = counter.vocabulary(kLookupName<Token>, options_);
}

template <class Token>
void Lookup<Token>::set_vocabulary(const std::vector<Token>& vocabulary,
                                   const std::vector<double>& weights) {
  vocabulary_ = given_vocabulary(kLookupName<Token>, options_, vocabulary, weights);
}

template <class Token>
void Lookup<Token>::set_vocabulary_from_file(const std::string& path) {
  set_vocabulary(tokens_of_file(path, std::type_identity<Token>()));
}

template <class Token>
std::vector<Token> Lookup<Token>::get_vocabulary(const VocabularyOptions& which) const {
  return all_tokens(options_, vocabulary_.get(), which);
}

template <class Token>
int64_t Lookup<Token>::vocabulary_size() const {
  return vocabulary_ ? vocabulary_->size() : first_index(options_);
}

template <class Token>
std::vector<double> Lookup<Token>::idf_weights() const {
  if (!vocabulary_) return {};
  return {vocabulary_->weights().begin(), vocabulary_->weights().end()};
}

template <class Token>
TensorSpec Lookup<Token>::infer(const TensorSpec& in) const {
  return LookupStep<Token>(options_, known(kLookupName<Token>, vocabulary_)).infer(in);
}

template <class Token>
Tensor Lookup<Token>::operator()(const Tensor& tokens) const {
  return run_step(LookupStep<Token>(options_, known(kLookupName<Token>, vocabulary_)), tokens);
}

template <class Token>
Tensor Lookup<Token>::operator()(const std::vector<Token>& tokens) const {
  return (*this)(Tensor::from(tokens, {int64_t(tokens.size())}));
}

template <class Token>
data::FunctionRef Lookup<Token>::on(size_t component) const {
  auto step = std::make_shared<LookupStep<Token>>(options_, known(kLookupName<Token>, vocabulary_));
  return as_function(std::move(step), component);
}

template <class Token>
void Lookup<Token>::save(const std::string& path) const {
  const auto& vocabulary = *known(kLookupName<Token>, vocabulary_);
  write_file_atomically(path,
                        lookup_to_json(kLookupName<Token>, options_to_json(options_), vocabulary));
}

template <class Token>
Lookup<Token> Lookup<Token>::load(const std::string& path) {
  return read_text_file(path, [&](std::string_view text) {
    auto loaded = lookup_from_json<Token>(text, kLookupName<Token>);
    Lookup lookup(loaded.options);
    lookup.vocabulary_ = std::move(loaded.vocabulary);
    return lookup;
  });
}

template class Lookup<std::string>;
template class Lookup<int64_t>;

}  // namespace stoker::text
