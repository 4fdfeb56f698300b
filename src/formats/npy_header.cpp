#include "formats/npy_header.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/printable.h"

namespace stoker {

namespace {

// Reads the few forms of Python that NumPy writes. Nothing nests, so nothing can be too deep.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw FileError(
        fmt::format("{}: the header of the array cannot be read: {} at byte {}", name_, why, at_));
  }
  bool next_is(char c) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    bool found = next_is(c);
    if (found) ++at_;
    return found;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("expected '{}'", c));
  }
  std::string_view quoted() {
    char quote = next_is('"') ? '"' : '\'';
    expect(quote);
    size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a text is not closed");
    std::string_view value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    next_is('T');
    for (std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    fail("expected True or False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!take(')')) {
      int64_t value = 0;
      const char* begin = text_.data() + at_;
      auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) fail("expected an extent of 0 or more");
      at_ += size_t(end - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
      values.push_back(value);
      if (values.size() > 64) fail("too many dimensions");
      if (!take(',') && !next_is(')')) fail("expected ',' or ')'");
      next_is(')');
    }
    return values;
  }

 private:
  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

void set_descr(std::string_view descr, const std::string& name, NpyHeader& header) {
  auto refuse = [&](const char* advice) {
    throw FileError(
        fmt::format("{}: values of dtype '{}' are not read; {}", name, printable(descr), advice));
  };
  std::string_view rest = descr;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    header.big_endian = rest[0] == '>';
    rest.remove_prefix(1);
  }
  if (rest.empty()) refuse("expected a number or text");
  header.kind = rest[0];
  rest.remove_prefix(1);
  if (header.kind == 'O')
    refuse(
        "Python objects are pickled, and unpickling can run any code: save the array with a "
        "numeric dtype, as in np.save(path, array.astype('float32'), allow_pickle=False)");
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), header.bytes);
  if (error != std::errc() || end != rest.data() + rest.size() || header.bytes > (1U << 28))
    refuse("expected a number or text, such as '<f4', '|u1' or '<U10'");
  uint64_t bytes = header.bytes;
  bool integer = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  switch (header.kind) {
    case 'b':
      if (bytes == 1) return;
      break;
    case 'i':
    case 'u':
      if (integer) return;
      break;
    case 'f':
      if (bytes == 2 || bytes == 4 || bytes == 8) return;
      break;
    case 'S':
      return;
    case 'U':
      header.bytes *= 4;  // UTF-32
      return;
    case 'c':
      refuse("complex numbers have no tensors: save real and imaginary parts apart");
    default:
      break;
  }
  refuse("save the array as float32, as whole numbers or as text");
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name) {
  HeaderText walk(text, name);
  NpyHeader header;
  unsigned found = 0;
  walk.expect('{');
  while (!walk.take('}')) {
    std::string_view key = walk.quoted();
    walk.expect(':');
    if (key == "descr") {
      if (walk.next_is('['))
        throw FileError(fmt::format(
            "{}: holds records of several fields; save each field as an array of its own", name));
      set_descr(walk.quoted(), name, header);
      found |= 1;
    } else if (key == "fortran_order") {
      header.fortran_order = walk.boolean();
      found |= 2;
    } else if (key == "shape") {
      header.shape = walk.tuple();
      found |= 4;
    } else {
      walk.fail(fmt::format("the key \"{}\" is not known", printable(key)));
    }
    if (!walk.take(',') && !walk.next_is('}')) walk.fail("expected ',' or '}'");
  }
  if (found != 7) walk.fail("descr, fortran_order and shape have to be there");
  if (header.shape.size() > size_t(Shape::kMaxRank))
    throw FileError(fmt::format("{}: has {} dimensions, Stoker reads up to {}", name,
                                header.shape.size(), Shape::kMaxRank));
  return header;
}

}  // namespace stoker
