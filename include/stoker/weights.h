// Weights that others wrote, or that another model had: taken by name, as far as they fit.
//
//   load_weights_by_name(model, "backbone.safetensors", {.skip_mismatch = true});
//
// Model::load_weights is for files of the same model, and takes all or nothing.
#pragma once

#include <string>
#include <vector>

#include <stoker/model.h>

namespace stoker {

struct LoadByNameArgs {
  bool skip_mismatch = false;  // leave a weight of another shape as it is
  int verbose = 1;  // 1: one line to Context::out where not all weights were loaded; 0: silent
};

// Names of weights, "conv2d/kernel", in nested models "encoder/conv2d/kernel".
struct LoadByNameResult {
  std::vector<std::string> loaded;
  std::vector<std::string> missing;     // the model has them, the file does not
  std::vector<std::string> mismatched;  // of another shape; left as they were
  std::vector<std::string> unused;      // the file has them, the model does not
};

// `path` is any safetensors file whose tensors have the names of the model's weights; in files that
// Stoker wrote, what does not belong to the weights is passed over. Other float dtypes are cast.
// FileError with names and shapes for tensors that do not fit, unless skip_mismatch, and where none
// was loaded; the model is then as it was.
LoadByNameResult load_weights_by_name(const Model& model, const std::string& path,
                                      const LoadByNameArgs& args = {});

}  // namespace stoker
