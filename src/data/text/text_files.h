// Lookups and text vectorisation as JSON files:
//   {"format": "stoker.text", "version": 1, "kind": "StringLookup", "options": {…},
//    "vocabulary": […], "idf_weights": […]}
// The vocabulary stands without its special tokens; the weights are one per column.
#pragma once

#include <string>

#include <stoker/text.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/text/json_reader.h"
#include "data/text/vocabulary.h"
#include "formats/json.h"

namespace stoker::text {

// Of a lookup's options, all but the vocabulary.
template <class Token>
nlohmann::json options_to_json(const LookupOptions<Token>& options);
nlohmann::json options_to_json(
    const TextVectorizationOptions& options);  // ValueError: own functions

template <class Token>
std::string lookup_to_json(const char* kind, nlohmann::json options,
                           const Vocabulary<Token>& vocabulary);

template <class Options, class Token>
struct Loaded {
  Options options;
  std::shared_ptr<const Vocabulary<Token>> vocabulary;
};
// ValueError says what is wrong.
template <class Token>
Loaded<LookupOptions<Token>, Token> lookup_from_json(std::string_view text, const char* kind);
Loaded<TextVectorizationOptions, std::string> vectorization_from_json(std::string_view text);

// The lookup inside a TextVectorization.
StringLookupOptions lookup_options(const TextVectorizationOptions& options);

// What `read` makes of the file's text; a ValueError becomes a FileError that begins with the path.
template <class Read>
auto read_text_file(const std::string& path, Read&& read) {
  std::string text = read_text(path);
  try {
    return read(std::string_view(text));
  } catch (const ValueError& error) {
    throw FileError(path + ": " + error.what());
  }
}

}  // namespace stoker::text
