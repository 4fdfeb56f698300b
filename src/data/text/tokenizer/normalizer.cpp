#include "data/text/tokenizer/normalizer.h"

#include <vector>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/utf8.h"
#include "data/text/json_reader.h"
#include "data/text/tokenizer/unicode.h"

namespace stoker::text {

namespace {

// The text without the characters for which `leaves` is true.
template <class Leaves>
std::string without(std::u32string_view codes, Leaves&& leaves) {
  std::string kept;
  for (char32_t code : codes)
    if (!leaves(code)) append_utf8(kept, code);
  return kept;
}

std::string cleaned_text(const std::string& text) {
  std::string result;
  for (char32_t code : decoded(text)) {
    uint16_t kind = kind_of(code);
    if (kind & kDropped) continue;
    if (kind & kBlank)
      result += ' ';
    else
      append_utf8(result, code);
  }
  return result;
}

std::string with_chinese_apart(const std::string& text) {
  std::string result;
  for (char32_t code : decoded(text)) {
    bool apart = is_chinese(code);
    if (apart) result += ' ';
    append_utf8(result, code);
    if (apart) result += ' ';
  }
  return result;
}

bool is_ascii(const std::string& text) {
  for (char byte : text)
    if (uint8_t(byte) >= 0x80) return false;
  return true;
}

Normalizer bert_normalizer(const JsonReader& json) {
  bool clean = json.flag("clean_text", true), chinese = json.flag("handle_chinese_chars", true);
  bool lower = json.flag("lowercase", true), accents = json.flag("strip_accents", lower);
  return [=](const std::string& given) {
    std::string text = clean ? cleaned_text(given) : given;
    if (!is_ascii(text)) {
      if (chinese) text = with_chinese_apart(text);
      if (accents)
        text =
            without(decomposed(decoded(text)), [](char32_t code) { return is(code, kNonspacing); });
    }
    return lower ? lowercase(text) : text;
  };
}

Normalizer strip_normalizer(const JsonReader& json) {
  bool left = json.flag("strip_left", true), right = json.flag("strip_right", true);
  return [=](const std::string& text) {
    std::u32string codes = decoded(text);
    size_t begin = 0, end = codes.size();
    while (left && begin < end && is(codes[begin], kSpace)) ++begin;
    while (right && end > begin && is(codes[end - 1], kSpace)) --end;
    return encoded(std::u32string_view(codes).substr(begin, end - begin));
  };
}

Normalizer sequence_normalizer(const JsonReader& json) {
  std::vector<Normalizer> steps;
  for (const auto& each : json.list("normalizers"))
    steps.push_back(make_normalizer(each, json.where("normalizers")));
  return [steps = std::move(steps), where = json.where("normalizers")](const std::string& given) {
    std::string text = given;
    for (const Normalizer& step : steps) {
      if (step) text = step(text);
      check_growth(given.size(), text.size(), where);
    }
    return text;
  };
}

}  // namespace

void check_growth(size_t before, size_t now, const std::string& where) {
  constexpr size_t kSpare = 1 << 20, kFactor = 64;
  if (now > kSpare + kFactor * before)
    throw ValueError(fmt::format("{}: {} bytes of text have become {}", where, before, now));
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  std::string result;
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, begin)) {
    result.append(text, begin, at - begin).append(to);
    begin = at + from.size();
  }
  return result.append(text, begin);
}

Normalizer make_normalizer(const nlohmann::json& json, const std::string& where) {
  if (json.is_null()) return {};
  JsonReader reader(json, where);
  std::string type = reader.text("type");
  if (type == "Sequence") return sequence_normalizer(reader);
  if (type == "BertNormalizer") return bert_normalizer(reader);
  if (type == "Strip") return strip_normalizer(reader);
  if (type == "Lowercase") return [](const std::string& text) { return lowercase(text); };
  if (type == "NFD")
    return [](const std::string& text) { return encoded(decomposed(decoded(text))); };
  if (type == "NFC")
    return [](const std::string& text) { return encoded(composed(decoded(text))); };
  if (type == "StripAccents")
    return [](const std::string& text) {
      return without(decoded(text), [](char32_t code) { return is(code, kMark); });
    };
  if (type == "Prepend")
    return [prefix = reader.text("prepend")](const std::string& text) {
      return text.empty() ? text : prefix + text;
    };
  if (type == "Replace" && reader.object("pattern").has("String"))
    return [from = reader.object("pattern").text("String"), to = reader.text("content")](
               const std::string& text) { return replaced(text, from, to); };
  throw ValueError(
      fmt::format("{} is \"{}\", which is not supported; expected BertNormalizer, Lowercase, NFC, "
                  "NFD, Prepend, "
                  "Replace of a String, Sequence, Strip or StripAccents",
                  where, type));
}

}  // namespace stoker::text
