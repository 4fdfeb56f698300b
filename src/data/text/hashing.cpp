// Hashing and HashedCrossing.
#include <stoker/categories.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/convert.h"
#include "base/visit_dtype.h"
#include "data/text/hashes.h"
#include "data/text/step.h"

namespace stoker::text {

namespace {

void expect_categories(const std::string& name, const TensorSpec& in) {
  if (in.dtype != DType::bytes && !is_integer(in.dtype))
    throw ShapeError(
        fmt::format("{}: got {}; expected texts, bytes, or integers", name, to_string(in)));
}

// body(text) or body(number) for each value.
template <class Body>
void for_each_value(const ConstTensorView& in, const Body& body) {
  if (in.dtype == DType::bytes) {
    for (const std::string& text : in.values<std::string>()) body(text);
    return;
  }
  visit_numeric(in.dtype, [&]<class T>(std::type_identity<T>) {
    for (T value : in.values<T>()) body(convert<int64_t>(value));
  });
}

// Bins as they are, or as columns.
struct Columns {
  OutputMode mode;
  int64_t depth;

  TensorSpec spec(const Shape& in) const {
    if (mode == OutputMode::int_) return {DType::int64, in};
    std::vector<int64_t> extents(in.begin(), in.end());
    bool drop = mode == OutputMode::one_hot ? in.rank() > 1 && in[-1] == 1 : in.rank() > 0;
    if (drop) extents.pop_back();
    extents.push_back(depth);
    return {DType::float32, Shape(extents)};
  }

  void write(const std::vector<int64_t>& bins, const Shape& in, Place& out) const {
    TensorSpec made = spec(in);
    void* to = out.put(made.dtype, made.shape);
    if (mode == OutputMode::int_) {
      std::ranges::copy(bins, static_cast<int64_t*>(to));
      return;
    }
    auto* columns = static_cast<float*>(to);
    std::fill_n(columns, made.shape.elements(), 0.0F);
    int64_t length = mode == OutputMode::one_hot || in.rank() == 0 ? 1 : in[-1];
    for (size_t i = 0; i < bins.size(); ++i) {
      float& place = columns[int64_t(i) / length * depth + bins[i]];
      place = mode == OutputMode::count ? place + 1 : 1;
    }
  }
};

void check_bins(const std::string& name, int64_t num_bins, OutputMode mode, int64_t least) {
  if (num_bins < least)
    throw ValueError(fmt::format("{}: num_bins is {}, expected {} or more", name, num_bins, least));
  if (mode == OutputMode::tf_idf)
    throw ValueError(fmt::format("{}: output_mode tf_idf needs a vocabulary: StringLookup", name));
}

class HashingStep final : public Step {
 public:
  HashingStep(int64_t num_bins, HashingOptions options)
      : num_bins_(num_bins),
        options_(std::move(options)),
        columns_{options_.output_mode, num_bins} {}
  std::string name() const override { return "Hashing"; }
  std::string identity() const override {
    std::string mask = "none", salt = "none";
    if (options_.mask_value)
      mask = std::visit([](const auto& value) { return fmt::format("{}", value); },
                        *options_.mask_value);
    if (options_.salt) salt = fmt::format("{} {}", options_.salt->first, options_.salt->second);
    return fmt::format("Hashing {} mask {} salt {} mode {}", num_bins_, mask, salt,
                       int(options_.output_mode));
  }
  TensorSpec infer(const TensorSpec& in) const override {
    expect_categories(name(), in);
    return columns_.spec(in.shape);
  }
  void run(const ConstTensorView& in, Place& out) const override {
    std::vector<int64_t> bins;
    for_each_value(in, [&](const auto& value) { bins.push_back(bin_of(value)); });
    columns_.write(bins, in.shape, out);
  }

 private:
  template <class Value>
  int64_t bin_of(const Value& value) const {
    const auto& mask = options_.mask_value;
    if (!mask) return hashed(value, num_bins_);
    const Value* same = std::get_if<Value>(&*mask);
    return same != nullptr && *same == value ? 0 : 1 + hashed(value, num_bins_ - 1);
  }
  int64_t hashed(int64_t value, int64_t bins) const { return hashed(std::to_string(value), bins); }
  int64_t hashed(const std::string& text, int64_t bins) const {
    const auto& salt = options_.salt;
    uint64_t hash = salt ? siphash64(text, salt->first, salt->second) : farmhash64(text);
    return int64_t(hash % uint64_t(bins));
  }

  int64_t num_bins_;
  HashingOptions options_;
  Columns columns_;
};

// --- crossing -------------------------------------------------------------------------------------

uint64_t mixed_shift(uint64_t value) { return value ^ (value >> 47); }

// Two fingerprints as one, as TensorFlow joins them.
uint64_t joined(uint64_t first, uint64_t second) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995U;
  uint64_t result = first ^ kMultiplier;
  result ^= mixed_shift(second * kMultiplier) * kMultiplier;
  result *= kMultiplier;
  return mixed_shift(mixed_shift(result) * kMultiplier);
}

uint64_t fingerprint(const std::string& text) { return farmhash64(text); }
uint64_t fingerprint(int64_t value) { return uint64_t(value); }

std::vector<int64_t> crossed(std::span<const ConstTensorView> features, int64_t bins) {
  constexpr uint64_t kKey = 0xDECAFCAFFEU;  // TensorFlow's
  std::vector<uint64_t> hashes(size_t(features[0].shape.elements()), kKey);
  for (const ConstTensorView& feature : features) {
    size_t at = 0;
    for_each_value(feature, [&](const auto& value) {
      hashes[at] = joined(hashes[at], fingerprint(value));
      ++at;
    });
  }
  std::vector<int64_t> numbers;
  for (uint64_t hash : hashes) numbers.push_back(int64_t(hash % uint64_t(bins)));
  return numbers;
}

void check_features(std::span<const TensorSpec> features) {
  if (features.size() < 2)
    throw ShapeError(
        fmt::format("HashedCrossing: expected two or more features, got {}", features.size()));
  for (const TensorSpec& feature : features) {
    expect_categories("HashedCrossing", feature);
    if (feature.shape != features[0].shape)
      throw ShapeError(fmt::format("HashedCrossing: expected features of one shape, got {} and {}",
                                   to_string(features[0]), to_string(feature)));
  }
}

class CrossingFunction final : public data::ElementFunction {
 public:
  CrossingFunction(int64_t num_bins, OutputMode mode, std::vector<size_t> components)
      : num_bins_(num_bins), columns_{mode, num_bins}, components_(std::move(components)) {}
  std::string name() const override { return "HashedCrossing"; }
  std::string identity() const override {
    return fmt::format("HashedCrossing {} mode {} of {}", num_bins_, int(columns_.mode),
                       fmt::join(components_, ","));
  }
  data::ElementSpec infer(const data::ElementSpec& in) const override {
    std::vector<TensorSpec> features;
    for (size_t component : components_) {
      if (component >= in.size())
        throw ShapeError(fmt::format(
            "HashedCrossing: crosses component {} of elements that have {}", component, in.size()));
      features.push_back(in[component]);
    }
    check_features(features);
    data::ElementSpec out = in;
    out.push_back(columns_.spec(features[0].shape));
    return out;
  }
  void apply(std::span<const ConstTensorView> in, data::ElementWriter& out, Rng&) const override {
    std::vector<ConstTensorView> features;
    for (size_t index = 0; index < in.size(); ++index) out.copy(index, in[index]);
    for (size_t component : components_) features.push_back(in[component]);
    class Last final : public Place {
     public:
      Last(data::ElementWriter& writer, size_t index) : writer_(writer), index_(index) {}
      void* put(DType dtype, const Shape& shape) override {
        return writer_.put(index_, dtype, shape);
      }

     private:
      data::ElementWriter& writer_;
      size_t index_;
    } place(out, in.size());
    columns_.write(crossed(features, num_bins_), features[0].shape, place);
  }

 private:
  int64_t num_bins_;
  Columns columns_;
  std::vector<size_t> components_;
};

}  // namespace

Hashing::Hashing(int64_t num_bins, const HashingOptions& options)
    : num_bins_(num_bins), options_(options) {
  check_bins("Hashing", num_bins, options.output_mode, options.mask_value ? 2 : 1);
}

Tensor Hashing::operator()(const Tensor& values) const {
  return run_step(HashingStep(num_bins_, options_), values);
}

data::FunctionRef Hashing::on(size_t component) const {
  return as_function(std::make_shared<HashingStep>(num_bins_, options_), component);
}

HashedCrossing::HashedCrossing(int64_t num_bins, OutputMode output_mode)
    : num_bins_(num_bins), output_mode_(output_mode) {
  check_bins("HashedCrossing", num_bins, output_mode, 1);
  if (output_mode != OutputMode::int_ && output_mode != OutputMode::one_hot)
    throw ValueError("HashedCrossing: expected output_mode int_ or one_hot");
}

Tensor HashedCrossing::operator()(const std::vector<Tensor>& features) const {
  std::vector<TensorSpec> specs;
  std::vector<ConstTensorView> views;
  for (const Tensor& feature : features) {
    specs.push_back(feature.spec());
    views.push_back(feature);
  }
  check_features(specs);
  class Made final : public Place {
   public:
    void* put(DType dtype, const Shape& shape) override {
      tensor = Tensor(dtype, shape);
      return tensor.raw_mut();
    }
    Tensor tensor;
  } place;
  Columns{output_mode_, num_bins_}.write(crossed(views, num_bins_), specs[0].shape, place);
  return place.tensor;
}

data::FunctionRef HashedCrossing::on(const std::vector<size_t>& components) const {
  return std::make_shared<CrossingFunction>(num_bins_, output_mode_, components);
}

}  // namespace stoker::text
