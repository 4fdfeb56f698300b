#include "data/text/tokenizer/decoder.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/utf8.h"
#include "data/text/json_reader.h"
#include "data/text/tokenizer/normalizer.h"
#include "data/text/tokenizer/pre_tokenizer.h"

namespace stoker::text {

namespace {

std::string in_one(const TokenTexts& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

void decode_bytes(TokenTexts& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) {
    std::string own;
    bool all = true;
    for (std::string_view rest = token; all && !rest.empty();) {
      Utf8Character next = first_character(rest);
      int byte = byte_of_character(next.code);
      all = byte >= 0;
      own += char(byte);
      rest.remove_prefix(next.bytes);
    }
    bytes += all ? own : token;
  }
  tokens = {repaired_utf8(bytes)};
}

std::string cleaned_up(std::string text) {
  static constexpr std::pair<const char*, const char*> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) text = replaced(text, from, to);
  return text;
}

Decoder wordpiece_decoder(const JsonReader& json) {
  std::string prefix = json.text("prefix", "##");
  bool cleanup = json.flag("cleanup", true);
  return [=](TokenTexts& tokens) {
    for (size_t at = 0; at < tokens.size(); ++at) {
      if (at > 0) {
        if (tokens[at].starts_with(prefix))
          tokens[at].erase(0, prefix.size());
        else
          tokens[at].insert(0, 1, ' ');
      }
      if (cleanup) tokens[at] = cleaned_up(std::move(tokens[at]));
    }
  };
}

Decoder metaspace_decoder(const JsonReader& json) {
  std::string mark = json.text("replacement", "\xE2\x96\x81");
  bool prefix = json.text("prepend_scheme",
                          json.flag("add_prefix_space", true) ? "always" : "never") != "never";
  return [=](TokenTexts& tokens) {
    for (size_t at = 0; at < tokens.size(); ++at) {
      bool leads = at == 0 && prefix && tokens[at].starts_with(mark);
      tokens[at] = replaced(leads ? tokens[at].substr(mark.size()) : tokens[at], mark, " ");
    }
  };
}

// <0xE2> <0x96> <0x81>: bytes of characters, or U+FFFD for each where they are none.
void decode_fallback(TokenTexts& tokens) {
  TokenTexts result;
  std::string bytes;
  auto finish = [&] {
    if (bytes.empty()) return;
    if (valid_utf8_bytes(bytes) == bytes.size()) {
      result.push_back(bytes);
    } else {
      for (size_t at = 0; at < bytes.size(); ++at) result.emplace_back("\xEF\xBF\xBD");
    }
    bytes.clear();
  };
  auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  for (const std::string& token : tokens) {
    bool byte = token.size() == 6 && token.starts_with("<0x") && token.back() == '>' &&
                digit(token[3]) >= 0 && digit(token[4]) >= 0;
    if (byte) {
      bytes += char(digit(token[3]) * 16 + digit(token[4]));
      continue;
    }
    finish();
    result.push_back(token);
  }
  finish();
  tokens = std::move(result);
}

Decoder strip_decoder(const JsonReader& json) {
  std::string content = json.text("content");
  int64_t start = json.whole("start", 0), stop = json.whole("stop", 0);
  if (content.empty() || first_character(content).bytes != content.size())
    json.refuse("content", "one character");
  return [=](TokenTexts& tokens) {
    for (std::string& token : tokens) {
      for (int64_t left = start; left > 0 && token.starts_with(content); --left)
        token.erase(0, content.size());
      for (int64_t left = stop; left > 0 && token.ends_with(content); --left)
        token.resize(token.size() - content.size());
    }
  };
}

Decoder sequence_decoder(const JsonReader& json) {
  std::vector<Decoder> steps;
  for (const auto& each : json.list("decoders"))
    steps.push_back(make_decoder(each, json.where("decoders")));
  return [steps = std::move(steps), where = json.where("decoders")](TokenTexts& tokens) {
    size_t before = in_one(tokens).size();
    for (const Decoder& step : steps) {
      step(tokens);
      check_growth(before, in_one(tokens).size(), where);
    }
  };
}

Decoder suffix_decoder(const JsonReader& json) {
  return [suffix = json.text("suffix", "</w>")](TokenTexts& tokens) {
    for (size_t at = 0; at < tokens.size(); ++at)
      tokens[at] = replaced(tokens[at], suffix, at + 1 == tokens.size() ? "" : " ");
  };
}

}  // namespace

Decoder make_decoder(const nlohmann::json& json, const std::string& where) {
  if (json.is_null())
    return [](TokenTexts& tokens) {
      for (size_t at = 1; at < tokens.size(); ++at) tokens[at].insert(0, 1, ' ');
    };
  JsonReader reader(json, where);
  std::string type = reader.text("type");
  if (type == "ByteLevel") return decode_bytes;
  if (type == "WordPiece") return wordpiece_decoder(reader);
  if (type == "Metaspace") return metaspace_decoder(reader);
  if (type == "BPEDecoder") return suffix_decoder(reader);
  if (type == "ByteFallback") return decode_fallback;
  if (type == "Fuse") return [](TokenTexts& tokens) { tokens = {in_one(tokens)}; };
  if (type == "Strip") return strip_decoder(reader);
  if (type == "Sequence") return sequence_decoder(reader);
  if (type == "Replace" && reader.object("pattern").has("String"))
    return [from = reader.object("pattern").text("String"),
            to = reader.text("content")](TokenTexts& tokens) {
      for (std::string& token : tokens) token = replaced(token, from, to);
    };
  throw ValueError(fmt::format(
      "{} is \"{}\", which is not supported; expected BPEDecoder, ByteFallback, ByteLevel, Fuse, "
      "Metaspace, Replace of a String, Sequence, Strip or WordPiece",
      where, type));
}

}  // namespace stoker::text
