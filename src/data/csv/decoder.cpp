// From records of CSV to components. Records that follow each other are read column by column, plain
// numbers by the vector kernels; a single record field by field. What is no number at first sight
// (quotes, spaces, missing values) takes the long way.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/visit_dtype.h"
#include "data/csv/schema.h"
#include "data/runtime/records.h"
#include "formats/csv_grid.h"
#include "formats/number_text.h"

namespace stoker::data {

namespace {

constexpr size_t kLongestShown = 40;

// Of a field: what becomes of it.
struct Field {
  CsvColumn column;
  bool used = false, inferred = false, packed = false;
  size_t component = 0;                      // its place among the components, or in the packed one
  std::string unfit = {};                    // CsvOptions::missing, where it is none of the dtype
  std::optional<std::string> fallback = {};  // as text, checked
};

using csv_scan::NumberKind;
using csv_scan::NumberTarget;

NumberKind kind_of(DType dtype) {
  if (dtype == DType::float32) return NumberKind::float32;
  return dtype == DType::int64 ? NumberKind::int64 : NumberKind::none;
}

// Assigns a text behind which memory can be read up to `readable`. A short one is made in place from as
// many bytes as a string holds itself, and then cut: 20 instead of 75 instructions.
void set_text(std::string& to, std::string_view text, const char* readable) {
  constexpr size_t kShort = 15;
  bool holds = std::string().capacity() >= kShort;  // without memory, so that nothing can be thrown
  if (!holds || text.size() > kShort || readable - text.data() < ptrdiff_t(kShort)) {
    to.assign(text);
    return;
  }
  std::destroy_at(&to);
  std::construct_at(&to, text.data(), kShort);
  to.erase(text.size());
}

class CsvDecoder final : public ElementFunction, public RecordFunction {
 public:
  CsvDecoder(CsvSchema schema, const CsvOptions& options)
      : format_(csv_format(options)), na_values_(options.na_values) {
    for (size_t i = 0; i < schema.fields.size(); ++i)
      fields_.push_back({.column = schema.fields[i], .inferred = schema.inferred[i]});
    size_t labels = schema.label ? 1 : 0, features = schema.components.size() - labels;
    packed_ = options.pack ? features : 0;
    if (options.pack) spec_.push_back({DType::float32, {int64_t(features)}});
    for (size_t i = 0; i < schema.components.size(); ++i) {
      Field& field = fields_[schema.components[i]];
      field.used = true;
      field.packed = options.pack && i < features;
      if (field.packed) pack(field, i);
      field.component = field.packed ? i : spec_.size();
      if (!field.packed) spec_.push_back({field.column.dtype, {}});
    }
    for (Field& field : fields_) set_fallback(field, options);
    check_missing(options);
  }

  std::string name() const override { return "decode_csv"; }
  std::string identity() const override {
    std::string text =
        fmt::format("decode_csv '{}' '{}' pack {}", format_.delimiter, int(format_.quote), packed_);
    for (const std::string& value : na_values_) text += fmt::format(" na {}", value);
    for (const Field& field : fields_)
      text += field.used ? fmt::format("; {} {} {} {}", field.component, field.column.name,
                                       stoker::name(field.column.dtype),
                                       field.fallback.value_or("required"))
                         : "; unused";
    return text;
  }

  ElementSpec infer(const ElementSpec& in) const override {
    if (in.size() != 1 || !(in[0] == TensorSpec{DType::bytes, {}}))
      throw ShapeError(
          fmt::format("decode_csv takes records, (bytes[]), but elements are {}", to_string(in)));
    return spec_;
  }

  void apply(std::span<const ConstTensorView> in, ElementWriter& out, Rng&) const override {
    const auto& record = *static_cast<const std::string*>(in[0].data);
    constexpr size_t kFew = 32;
    if (fields_.size() <= kFew) {
      std::array<NumberTarget, kFew> few;
      decode(record, record.data() + record.size(), targets(out, few), 0);
    } else {
      std::vector<NumberTarget> many(fields_.size());
      decode(record, record.data() + record.size(), targets(out, many), 0);
    }
  }

  int64_t apply_records(Records records, ElementWriter& out) const override {
    std::vector<NumberTarget> memory(fields_.size());
    std::span<const NumberTarget> places = targets(out, memory);
    const char* readable = records.back().data() + records.back().size();
    CsvGrid grid(format_, fields_.size());
    size_t row = 0;
    try {
      while (row < records.size()) {
        if (grid.find(records.subspan(row), records[0].data())) {
          size_t made = take_columns(grid, places, row);
          row += made;
          if (made < grid.rows()) break;
        } else {
          for (size_t end = row + grid.rows(); row < end; ++row)
            decode(records[row], readable, places, row);
        }
      }
    } catch (const ValueError&) {  // apply() says it
    }
    return int64_t(row);
  }

 private:
  // Where the fields go, in their order.
  std::span<const NumberTarget> targets(ElementWriter& out, std::span<NumberTarget> memory) const {
    char* packed = nullptr;
    if (packed_ > 0) packed = static_cast<char*>(out.put(0, DType::float32, {int64_t(packed_)}));
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field& field = fields_[i];
      DType dtype = field.column.dtype;
      NumberTarget& target = memory[i];
      if (!field.used)
        target = {};
      else if (field.packed)
        target = {packed + field.component * sizeof(float), packed_ * sizeof(float),
                  NumberKind::float32};
      else
        target = {static_cast<char*>(out.put(field.component, dtype, {})), size_of(dtype),
                  kind_of(dtype)};
    }
    return memory.first(fields_.size());
  }

  void decode(std::string_view record, const char* readable, std::span<const NumberTarget> places,
              size_t row) const {
    CsvFields walk(record, format_);
    size_t i = 0;
    while (true) {
      if (i < places.size() && places[i].kind != NumberKind::none)
        i += walk.take_numbers(places.subspan(i), row, readable);
      if (i == places.size()) break;
      if (walk.done()) wrong_count(i);
      take_field(i, walk, places[i].data + row * places[i].stride);
      if (++i < places.size() && walk.done()) wrong_count(i);
    }
    if (!walk.done()) wrong_count(fields_.size() + count_rest(walk));
  }

  // The rows of a grid, column by column, from row `first` of the targets on. Returns how many are right
  // from the first on.
  size_t take_columns(CsvGrid& grid, std::span<const NumberTarget> places, size_t first) const {
    size_t right = grid.rows();
    for (size_t i = 0; i < places.size(); ++i) {
      NumberTarget target = places[i];
      target.data += first * target.stride;
      if (target.kind != NumberKind::none) {
        for (uint32_t row : grid.numbers(i, target))
          if (row < right && !take_number(i, grid, row, target)) right = row;
      } else if (fields_[i].used && fields_[i].column.dtype == DType::bytes) {
        right = take_texts(i, grid, target, right);
      } else if (fields_[i].used || grid.has_quotes()) {
        for (size_t row = 0; row < right; ++row)
          if (!take_alone(i, grid, row, target)) right = row;
      }
    }
    return right;
  }

  size_t take_texts(size_t i, const CsvGrid& grid, const NumberTarget& target, size_t rows) const {
    auto* texts = reinterpret_cast<std::string*>(target.data);
    for (size_t row = 0; row < rows; ++row) {
      std::optional<std::string_view> text = grid.text(row, i);
      if (text && !text->empty() && na_values_.empty())
        set_text(texts[row], *text, grid.end());
      else if (!take_alone(i, grid, row, target))
        return row;
    }
    return rows;
  }

  // As take_alone, for what is most often a number with many digits.
  bool take_number(size_t i, const CsvGrid& grid, size_t row, const NumberTarget& target) const {
    if (target.kind == NumberKind::float32) {
      std::string_view text = grid.field(row, i);
      auto* value = reinterpret_cast<float*>(target.data + row * target.stride);
      const char* end = text.data() + text.size();
      if (parse_float(text.data(), end, *value) == end) return true;
    }
    return take_alone(i, grid, row, target);
  }

  // False: it cannot be used.
  bool take_alone(size_t i, const CsvGrid& grid, size_t row, const NumberTarget& target) const {
    try {
      CsvFields walk(grid.field(row, i), format_);
      take_field(i, walk, target.data + row * target.stride);
      return walk.done();
    } catch (const ValueError&) {
      return false;
    }
  }

  void take_field(size_t i, CsvFields& walk, void* place) const {
    const Field& field = fields_[i];
    if (!field.used)
      read(i, walk);
    else if (field.column.dtype == DType::float32)
      number(i, walk, *static_cast<float*>(place));
    else
      value(i, walk, place);
  }

  static void pack(Field& field, size_t) {
    if (field.column.dtype == DType::bytes)
      throw ValueError(fmt::format(
          "csv: column \"{}\" is text, which `pack` cannot take; leave it out of select_columns, "
          "or "
          "read the columns one by one and map the text to numbers (text::StringLookup)",
          printable(field.column.name)));
    field.column.dtype = DType::float32;
  }

  // Parsed once here, so that a wrong one is an error of the chain and not of an element.
  static void set_fallback(Field& field, const CsvOptions& options) {
    DType dtype = field.column.dtype;
    field.fallback = field.column.fallback;
    if (!field.fallback && dtype == DType::bytes) field.fallback = "";
    if (field.used && field.fallback && !is_value(*field.fallback, dtype))
      fail_fallback(*field.fallback, field);
    if (field.fallback || !options.missing) return;
    if (is_value(*options.missing, dtype))
      field.fallback = options.missing;
    else
      field.unfit = *options.missing;
  }

  // One for all columns need not fit each of them: "nan" is none of integers without gaps.
  void check_missing(const CsvOptions& options) const {
    auto takes_it = [&](const Field& field) { return field.used && field.unfit.empty(); };
    auto lacks_it = [](const Field& field) { return field.used && !field.unfit.empty(); };
    auto number = [](const Field& field) { return field.column.dtype != DType::bytes; };
    auto unfit = std::ranges::find_if(fields_, lacks_it);
    if (unfit == fields_.end()) return;
    if (std::ranges::none_of(fields_, [&](const Field& f) { return takes_it(f) && number(f); }))
      fail_fallback(*options.missing, *unfit);
  }

  static bool is_value(const std::string& text, DType dtype) {
    alignas(std::max_align_t) std::byte memory[sizeof(std::string)];
    return dtype == DType::bytes || parse_csv_value(text, dtype, memory);
  }

  [[noreturn]] static void fail_fallback(const std::string& text, const Field& field) {
    throw ValueError(
        fmt::format("csv: \"{}\" should stand for missing values of column \"{}\", but is no {}",
                    text, printable(field.column.name), stoker::name(field.column.dtype)));
  }

  void number(size_t i, CsvFields& walk, float& value) const {
    const char* behind = parse_float(walk.at(), walk.end(), value);
    if (behind != nullptr && walk.ends_at(behind))
      walk.take(behind);
    else
      long_way(i, read(i, walk), &value);
  }

  void value(size_t i, CsvFields& walk, void* place) const {
    if (fields_[i].column.dtype == DType::int64) {
      const char* behind = parse_integer(walk.at(), walk.end(), *static_cast<int64_t*>(place));
      if (behind != nullptr && walk.ends_at(behind)) {
        walk.take(behind);
        return;
      }
    }
    long_way(i, read(i, walk), place);
  }

  void long_way(size_t i, std::string_view text, void* place) const {
    const Field& field = fields_[i];
    bool missing = text.empty() || std::ranges::find(na_values_, text) != na_values_.end();
    if (missing && !field.fallback)
      throw ValueError(
          field.unfit.empty()
              ? fmt::format(
                    "{}: the value is missing; say what stands for missing ones: {{.missing = "
                    "\"0\"}} of data::csv, --missing 0 of `stoker train` and `stoker "
                    "predict`",
                    address(i))
              : fmt::format("{}: the value is missing, and missing = \"{}\" is no {}; state the "
                            "column's dtype, or a fallback, in columns",
                            address(i), field.unfit, stoker::name(field.column.dtype)));
    if (missing) text = *field.fallback;
    if (parse_csv_value(text, field.column.dtype, place)) return;
    throw ValueError(fmt::format("{}: expected {}, got \"{}\"{}", address(i),
                                 stoker::name(field.column.dtype),
                                 printable(text.substr(0, kLongestShown)),
                                 field.inferred ? "; the dtype was inferred from the first rows: "
                                                  "state another in columns, or add it to na_values"
                                                : ""));
  }

  std::string_view read(size_t i, CsvFields& walk) const {
    try {
      return *walk.next();
    } catch (const ValueError& error) {
      throw ValueError(fmt::format("{}: {}", address(i), error.what()));
    }
  }

  static size_t count_rest(CsvFields& walk) {
    size_t count = 0;
    while (walk.next()) ++count;
    return count;
  }
  [[noreturn]] void wrong_count(size_t got) const {
    throw ValueError(fmt::format("the record has {} fields, expected {}", got, fields_.size()));
  }
  std::string address(size_t i) const {
    return fmt::format("column {} (\"{}\")", i + 1, printable(fields_[i].column.name));
  }

  CsvFormat format_;
  std::vector<std::string> na_values_;
  std::vector<Field> fields_;
  ElementSpec spec_;
  size_t packed_ = 0;  // values in the packed component; 0: there is none
};

}  // namespace

FunctionRef csv_decoder(CsvSchema schema, const CsvOptions& options) {
  return std::make_shared<CsvDecoder>(std::move(schema), options);
}

FunctionRef decode_csv(std::vector<CsvColumn> columns, const CsvOptions& options) {
  if (columns.empty()) throw ValueError("decode_csv: no columns were given");
  CsvSchema schema;
  schema.fields = std::move(columns);
  schema.inferred.assign(schema.fields.size(), false);
  for (size_t i = 0; i < schema.fields.size(); ++i) schema.components.push_back(i);
  return csv_decoder(std::move(schema), options);
}

}  // namespace stoker::data
