// The tensors of Hugging Face's files for the weights of a model, by a rule.
#pragma once

#include <functional>
#include <string>

#include <stoker/model.h>

namespace stoker::huggingface {

// Where a weight comes from.
struct Source {
  std::string tensor;       // its name without the prefix
  std::string other = {};   // what it may also be called; "": nothing
  bool transposed = false;  // [outputs, inputs] in the file
  int part = -1;            // of three, by columns; -1: the whole
};

struct Rules {
  std::string prefix;  // that all names may have: "transformer."
  // By the weight's layer ("h.0.attn/query") and its own name ("kernel").
  std::function<Source(const std::string& layer, const std::string& weight)> source;
  // Tensors that are no weights of the model, without the prefix.
  std::function<bool(const std::string& tensor)> passed_over;
  // "lm_head.weight" must equal "wte.weight" where it is there; "": nothing.
  std::string tied = {}, tied_to = {};
};

// All weights, or a FileError that names what is missing, not known or of another shape; the model
// is then as it was.
void load(const Model& model, const std::string& path, const Rules& rules, const char* action);

// "kernel" → "weight", "beta" → "bias", …
std::string tensor_word(const std::string& weight);

}  // namespace stoker::huggingface
