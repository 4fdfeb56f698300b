#include "formats/shard_layout.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "formats/crc32c.h"

namespace stoker {

namespace {

static_assert(std::endian::native == std::endian::little, "words are copied as they lie in memory");

constexpr uint32_t kMaxNumber = 999'999'999;

class RecordParser {
 public:
  RecordParser(std::span<const std::byte> record, std::vector<std::string_view>& strings)
      : record_(record), strings_(strings) {}

  // The words of a component, before the values of any.
  ShardComponent read_words(const TensorSpec& spec) {
    ShardComponent component{.spec = spec};
    for (int axis = 0; axis < spec.shape.rank(); ++axis)
      if (spec.shape[axis] < 0) component.spec.shape.set(axis, dimension());
    uint64_t elements = count(component.spec.shape);
    if (spec.dtype == DType::bytes) {
      if (elements > (record_.size() - position_) / sizeof(uint64_t))
        throw ValueError(
            fmt::format("{} strings do not fit into {} bytes", elements, record_.size()));
      component.first_string = position_;  // of their lengths, until their bytes are known
      position_ += size_t(elements) * sizeof(uint64_t);
    }
    return component;
  }

  void place_values(ShardComponent& component) {
    auto elements = uint64_t(component.spec.shape.elements());
    if (component.spec.dtype == DType::bytes) return place_strings(component, size_t(elements));
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(elements, size_of(component.spec.dtype), &bytes)) too_short();
    uint64_t begin = align_values(position_, bytes);
    if (begin > record_.size() || bytes > record_.size() - begin) too_short();
    component.data = record_.data() + begin;
    position_ = size_t(begin + bytes);
    if (component.spec.dtype == DType::bool_) check_bools(component.data, size_t(bytes));
  }

  void check_end(size_t alignment) const {
    if (align_up(position_, alignment) != record_.size())
      throw ValueError(fmt::format("its values end at {} of {} bytes", position_, record_.size()));
  }

 private:
  [[noreturn]] void too_short() const {
    throw ValueError(fmt::format("its values do not fit into {} bytes", record_.size()));
  }

  uint64_t load_word(size_t at) const {
    uint64_t value = 0;
    std::memcpy(&value, record_.data() + at, sizeof(value));
    return value;
  }

  uint64_t word() {
    if (record_.size() - position_ < sizeof(uint64_t)) too_short();
    position_ += sizeof(uint64_t);
    return load_word(position_ - sizeof(uint64_t));
  }

  void place_strings(ShardComponent& component, size_t count) {
    size_t lengths = component.first_string;
    component.first_string = strings_.size();
    for (size_t string = 0; string < count; ++string)
      strings_.push_back(take_string(load_word(lengths + string * sizeof(uint64_t))));
  }

  int64_t dimension() {
    uint64_t extent = word();
    if (extent > uint64_t(INT64_MAX)) throw ValueError(fmt::format("a dimension is {}", extent));
    return int64_t(extent);
  }

  static uint64_t count(const Shape& shape) {
    try {
      return uint64_t(shape.elements());
    } catch (const ShapeError& error) {
      throw ValueError(error.what());
    }
  }

  std::string_view take_string(uint64_t length) {
    if (length > record_.size() - position_) too_short();
    std::string_view text(reinterpret_cast<const char*>(record_.data()) + position_,
                          size_t(length));
    position_ += size_t(length);
    return text;
  }

  static void check_bools(const std::byte* data, size_t count) {
    if (std::any_of(data, data + count, [](std::byte value) { return value > std::byte{1}; }))
      throw ValueError("a bool is neither 0 nor 1");
  }

  std::span<const std::byte> record_;
  std::vector<std::string_view>& strings_;
  size_t position_ = 0;
};

bool take_number(std::string_view& text, size_t least_digits, uint32_t& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  auto digits = size_t(end - text.data());
  if (error != std::errc() || digits < least_digits || number > kMaxNumber) return false;
  text.remove_prefix(digits);
  return true;
}

bool take_text(std::string_view& text, std::string_view wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(wanted.size());
  return true;
}

}  // namespace

uint32_t footer_crc(const ShardHeader& header, const ShardFooter& footer) {
  uint32_t crc = crc32c(std::as_bytes(std::span(&header, 1)));
  return crc32c(std::as_bytes(std::span(&footer, 1)).first(offsetof(ShardFooter, crc)), crc);
}

size_t record_alignment(std::span<const TensorSpec> spec) {
  for (const TensorSpec& component : spec) {
    if (component.dtype == DType::bytes) continue;
    if (!component.shape.is_known() ||
        uint64_t(component.shape.elements()) >= kShardAlignment / size_of(component.dtype))
      return kShardAlignment;
  }
  return 8;
}

void parse_record(std::span<const std::byte> record, std::span<const TensorSpec> spec,
                  std::vector<ShardComponent>& components, std::vector<std::string_view>& strings) {
  components.clear();
  strings.clear();
  RecordParser parser(record, strings);
  for (const TensorSpec& component : spec) components.push_back(parser.read_words(component));
  for (ShardComponent& component : components) parser.place_values(component);
  parser.check_end(record_alignment(spec));
}

std::string make_shard_name(ShardName name) {
  return fmt::format("data-{:04}-{:05}.shard", name.generation, name.number);
}

bool parse_shard_name(std::string_view text, ShardName& name) {
  ShardName found;
  std::string_view rest = text;
  if (!take_text(rest, "data-") || !take_number(rest, 4, found.generation) ||
      !take_text(rest, "-") || !take_number(rest, 5, found.number) || rest != ".shard")
    return false;
  name = found;
  return make_shard_name(name) == text;
}

}  // namespace stoker
