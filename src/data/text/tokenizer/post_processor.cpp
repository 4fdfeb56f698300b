#include "data/text/tokenizer/post_processor.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "data/text/json_reader.h"

namespace stoker::text {

namespace {

Template plain_template() {
  return {.single = {{.sequence = 0}}, .pair = {{.sequence = 0}, {.sequence = 1, .type_id = 1}}};
}

// ["[CLS]", 101]
int64_t special_id(const JsonReader& json, const char* name) {
  const nlohmann::json& pair = json.list(name);
  if (pair.size() != 2) json.refuse(name, "a list of a token and its id");
  return whole_in(pair[1], json.where(name), 1);
}

Template bert_template(const JsonReader& json) {
  int64_t cls = special_id(json, "cls"), sep = special_id(json, "sep");
  TemplatePart begin{.ids = {cls}}, end{.ids = {sep}}, end_of_pair{.ids = {sep}, .type_id = 1};
  return {.single = {begin, {.sequence = 0}, end},
          .pair = {begin, {.sequence = 0}, end, {.sequence = 1, .type_id = 1}, end_of_pair}};
}

Template roberta_template(const JsonReader& json) {
  int64_t cls = special_id(json, "cls"), sep = special_id(json, "sep");
  TemplatePart begin{.ids = {cls}}, end{.ids = {sep}};
  return {.single = {begin, {.sequence = 0}, end},
          .pair = {begin, {.sequence = 0}, end, end, {.sequence = 1}, end}};
}

TemplatePart read_part(const nlohmann::json& json, const JsonReader& special,
                       const std::string& where) {
  JsonReader part(json, where);
  TemplatePart read;
  if (part.has("Sequence")) {
    JsonReader sequence = part.object("Sequence");
    std::string id = sequence.text("id");
    if (id != "A" && id != "B") sequence.refuse("id", "A or B");
    read.sequence = id == "A" ? 0 : 1;
    read.type_id = sequence.whole("type_id", 0);
    return read;
  }
  JsonReader token = part.object("SpecialToken");
  JsonReader known = special.object(token.text("id").c_str());
  for (const auto& id : known.list("ids"))
    read.ids.push_back(whole_in(id, known.where("ids"), read.ids.size()));
  read.type_id = token.whole("type_id", 0);
  return read;
}

std::vector<TemplatePart> read_parts(const JsonReader& json, const char* name) {
  JsonReader special = json.object("special_tokens");
  std::vector<TemplatePart> parts;
  int found[2] = {0, 0};
  for (const auto& each : json.list(name)) {
    parts.push_back(
        read_part(each, special, fmt::format("{}[{}]", json.where(name), parts.size())));
    if (parts.back().sequence >= 0) ++found[parts.back().sequence];
  }
  bool pair = std::string_view(name) == "pair";
  if (found[0] != 1 || found[1] != (pair ? 1 : 0))
    json.refuse(name, pair ? "a template with A and B, once each" : "a template with A, once");
  return parts;
}

Template sequence_template(const JsonReader& json) {
  Template all = plain_template();
  bool some = false;
  for (const auto& each : json.list("processors")) {
    JsonReader part(each, json.where("processors"));
    if (part.text("type") == "ByteLevel") continue;  // changes offsets alone
    if (some) json.refuse("processors", "a list with one that adds tokens, at most");
    all = make_template(each, json.where("processors"));
    some = true;
  }
  return all;
}

}  // namespace

int64_t Template::added(bool with_pair) const {
  int64_t count = 0;
  for (const TemplatePart& part : with_pair ? pair : single) count += int64_t(part.ids.size());
  return count;
}

Template make_template(const nlohmann::json& json, const std::string& where) {
  if (json.is_null()) return plain_template();
  JsonReader reader(json, where);
  std::string type = reader.text("type");
  if (type == "ByteLevel") return plain_template();
  if (type == "BertProcessing") return bert_template(reader);
  if (type == "RobertaProcessing") return roberta_template(reader);
  if (type == "Sequence") return sequence_template(reader);
  if (type == "TemplateProcessing")
    return {.single = read_parts(reader, "single"), .pair = read_parts(reader, "pair")};
  throw ValueError(
      fmt::format("{} is \"{}\", which is not supported; expected BertProcessing, ByteLevel, "
                  "RobertaProcessing, Sequence or TemplateProcessing",
                  where, type));
}

}  // namespace stoker::text
