#include "data/text/tokenizer/pre_tokenizer.h"

#include <unordered_map>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/utf8.h"
#include "data/text/json_reader.h"
#include "data/text/tokenizer/normalizer.h"
#include "data/text/tokenizer/unicode.h"
#include "data/text/tokenizer/word_rules.h"

namespace stoker::text {

namespace {

// What becomes of a character that is cut at.
enum class Cut : uint8_t { isolated, removed };

// Cuts every piece at the characters of these kinds.
void cut_at(Pieces& pieces, uint16_t kinds, Cut cut, bool together) {
  Pieces result;
  for (const Piece& piece : pieces) {
    std::string_view rest = piece.text;
    std::string current;
    bool inside = false;
    auto finish = [&] {
      if (!current.empty()) result.push_back({std::move(current), piece.first && result.empty()});
      current.clear();
    };
    while (!rest.empty()) {
      Utf8Character next = first_character(rest);
      bool hit = is(next.code, kinds);
      if (hit != inside || (hit && !together)) finish();
      inside = hit;
      if (!hit || cut == Cut::isolated) current += rest.substr(0, next.bytes);
      rest.remove_prefix(next.bytes);
    }
    finish();
  }
  pieces = std::move(result);
}

void cut_by_rule(Pieces& pieces, WordRule rule) {
  Pieces result;
  for (const Piece& piece : pieces) {
    std::u32string codes = decoded(piece.text);
    for (size_t begin = 0; begin < codes.size();) {
      size_t length = rule(codes, begin);
      result.push_back(
          {encoded(std::u32string_view(codes).substr(begin, length)), piece.first && begin == 0});
      begin += length;
    }
  }
  pieces = std::move(result);
}

// \w+|[^\w\s]+
void cut_words(Pieces& pieces) {
  Pieces result;
  for (const Piece& piece : pieces) {
    int before = -1;
    for (std::string_view rest = piece.text; !rest.empty();) {
      Utf8Character next = first_character(rest);
      uint16_t kind = kind_of(next.code);
      int own = kind & kWord ? 1 : kind & kSpace ? 0 : 2;
      if (own > 0 && own != before) result.push_back({"", piece.first && before == -1});
      if (own > 0) result.back().text += rest.substr(0, next.bytes);
      before = own;
      rest.remove_prefix(next.bytes);
    }
  }
  pieces = std::move(result);
}

PreTokenizer byte_level(const JsonReader& json) {
  bool prefix = json.flag("add_prefix_space", true), cut = json.flag("use_regex", true);
  return [=](Pieces& pieces) {
    if (prefix)
      for (Piece& piece : pieces)
        if (!piece.text.starts_with(' ')) piece.text.insert(0, 1, ' ');
    if (cut) cut_by_rule(pieces, gpt2_word);
    for (Piece& piece : pieces) {
      std::string shown;
      for (char byte : piece.text) shown += byte_characters()[uint8_t(byte)];
      piece.text = std::move(shown);
    }
  };
}

PreTokenizer metaspace(const JsonReader& json) {
  std::string mark = json.text("replacement", "\xE2\x96\x81");
  std::string scheme =
      json.text("prepend_scheme", json.flag("add_prefix_space", true) ? "always" : "never");
  if (mark.empty()) json.refuse("replacement", "a character");
  bool split = json.flag("split", true);
  return [=](Pieces& pieces) {
    Pieces result;
    for (Piece& piece : pieces) {
      std::string text = replaced(piece.text, " ", mark);
      bool prepend = scheme == "always" || (scheme == "first" && piece.first);
      if (prepend && !text.starts_with(mark)) text.insert(0, mark);
      size_t begin = 0;
      while (split && begin < text.size()) {
        size_t next = text.find(
            mark, begin + (text.compare(begin, mark.size(), mark) == 0 ? mark.size() : 0));
        next = std::min(next, text.size());
        result.push_back({text.substr(begin, next - begin), piece.first && begin == 0});
        begin = next;
      }
      if (!split) result.push_back({std::move(text), piece.first});
    }
    pieces = std::move(result);
  };
}

Cut read_cut(const JsonReader& json) {
  std::string behavior = json.text("behavior", "Isolated");
  if (behavior == "Isolated") return Cut::isolated;
  if (behavior == "Removed") return Cut::removed;
  json.refuse("behavior", "Isolated or Removed, which are supported");
}

PreTokenizer cut_at_text(const std::string& mark, Cut cut) {
  return [=](Pieces& pieces) {
    Pieces result;
    for (const Piece& piece : pieces) {
      size_t begin = 0;
      auto add = [&](size_t from, size_t length) {
        if (length > 0)
          result.push_back({piece.text.substr(from, length), piece.first && from == 0});
      };
      for (size_t at = piece.text.find(mark); at != std::string::npos;
           at = piece.text.find(mark, begin)) {
        add(begin, at - begin);
        if (cut == Cut::isolated) add(at, mark.size());
        begin = at + mark.size();
      }
      add(begin, piece.text.size() - begin);
    }
    pieces = std::move(result);
  };
}

PreTokenizer split_at(const JsonReader& json) {
  JsonReader pattern = json.object("pattern");
  if (json.flag("invert", false)) json.refuse("invert", "false, which is supported");
  if (pattern.has("String")) {
    std::string mark = pattern.text("String");
    if (mark.empty()) pattern.refuse("String", "a text with a character at least");
    return cut_at_text(mark, read_cut(json));
  }
  WordRule rule = known_rule(pattern.text("Regex"));
  if (rule == nullptr)
    pattern.refuse("Regex", "a known one; those of GPT-2, Llama 3 and Qwen 2 are supported");
  // Every character is in a word, so nothing is left to remove.
  if (read_cut(json) == Cut::removed)
    json.refuse("behavior", "Isolated, as these expressions need");
  return [rule](Pieces& pieces) { cut_by_rule(pieces, rule); };
}

size_t bytes_of(const Pieces& pieces) {
  size_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.text.size();
  return bytes;
}

PreTokenizer in_sequence(const JsonReader& json) {
  std::vector<PreTokenizer> steps;
  for (const auto& each : json.list("pretokenizers"))
    steps.push_back(make_pre_tokenizer(each, json.where("pretokenizers")));
  return [steps = std::move(steps), where = json.where("pretokenizers")](Pieces& pieces) {
    size_t before = bytes_of(pieces);
    for (const PreTokenizer& step : steps) {
      if (step) step(pieces);
      check_growth(before, bytes_of(pieces), where);
    }
  };
}

}  // namespace

const std::array<std::string, 256>& byte_characters() {
  static const std::array<std::string, 256> all = [] {
    std::array<std::string, 256> shown;
    uint32_t other = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      bool itself = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
      append_utf8(shown[byte], itself ? byte : other++);
    }
    return shown;
  }();
  return all;
}

int byte_of_character(uint32_t code) {
  static const std::unordered_map<uint32_t, int> all = [] {
    std::unordered_map<uint32_t, int> bytes;
    for (int byte = 0; byte < 256; ++byte)
      bytes[first_character(byte_characters()[size_t(byte)]).code] = byte;
    return bytes;
  }();
  auto found = all.find(code);
  return found == all.end() ? -1 : found->second;
}

PreTokenizer make_pre_tokenizer(const nlohmann::json& json, const std::string& where) {
  if (json.is_null()) return {};
  JsonReader reader(json, where);
  std::string type = reader.text("type");
  if (type == "Sequence") return in_sequence(reader);
  if (type == "ByteLevel") return byte_level(reader);
  if (type == "Metaspace") return metaspace(reader);
  if (type == "Split") return split_at(reader);
  if (type == "Whitespace") return cut_words;
  if (type == "WhitespaceSplit")
    return [](Pieces& pieces) { cut_at(pieces, kSpace, Cut::removed, true); };
  if (type == "BertPreTokenizer")
    return [](Pieces& pieces) {
      cut_at(pieces, kSpace, Cut::removed, true);
      cut_at(pieces, kPunctuation, Cut::isolated, false);
    };
  if (type == "Punctuation")
    return [cut = read_cut(reader)](Pieces& pieces) { cut_at(pieces, kPunctuation, cut, false); };
  if (type == "Digits")
    return [single = reader.flag("individual_digits", false)](Pieces& pieces) {
      cut_at(pieces, kDigit, Cut::isolated, !single);
    };
  throw ValueError(fmt::format(
      "{} is \"{}\", which is not supported; expected BertPreTokenizer, ByteLevel, Digits, "
      "Metaspace, Punctuation, Sequence, Split, Whitespace or WhitespaceSplit",
      where, type));
}

}  // namespace stoker::text
