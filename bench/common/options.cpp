#include "common/options.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <stoker/error.h>

namespace stoker::bench {

namespace {

std::string usage(const std::vector<Flag>& flags) {
  std::string text;
  for (const Flag& flag : flags)
    text += " [" + flag.name + (std::holds_alternative<bool*>(flag.to) ? "]" : " VALUE]");
  return text;
}

void set(const Flag& flag, const std::string& value) {
  size_t used = value.size();
  if (auto* const* text = std::get_if<std::string*>(&flag.to))
    **text = value;
  else if (auto* const* whole = std::get_if<int64_t*>(&flag.to))
    **whole = std::stoll(value, &used);
  else
    *std::get<double*>(flag.to) = std::stod(value, &used);
  if (used != value.size()) throw std::invalid_argument(value);
}

}  // namespace

std::vector<Flag> Options::flags() {
  return {{"--json", &json}, {"--only", &only}, {"--long", &longer}, {"--profile", &profile}};
}

std::vector<Flag> with(std::vector<Flag> flags, const std::vector<Flag>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

void parse(int argc, char** argv, const std::vector<Flag>& flags) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto flag = std::ranges::find(flags, word, &Flag::name);
    if (flag == flags.end()) throw ValueError("unexpected \"" + word + "\"; usage:" + usage(flags));
    if (auto* const* on = std::get_if<bool*>(&flag->to)) {
      **on = true;
      continue;
    }
    if (++i == argc) throw ValueError(word + " needs a value; usage:" + usage(flags));
    try {
      set(*flag, argv[i]);
    } catch (const std::logic_error&) {
      throw ValueError(word + ": expected a number, got \"" + argv[i] + "\"");
    }
  }
}

void finish(const Report& report, const Options& options) {
  report.print(std::cout);
  if (!options.json.empty()) report.write_json(options.json);
}

int guarded_main(const char* name, const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  }
}

}  // namespace stoker::bench
