// What a fit that is going to save looks at before its first step, so that nothing that was trained
// is lost to a file that cannot be written.
#pragma once

#include <string>
#include <vector>

#include <stoker/model.h>

#include "formats/safetensors.h"

namespace stoker {

// ValueError for a path that ends as files of Keras do (.keras, .h5, .hdf5): what Stoker writes there
// Keras could not read.
void check_ending(const std::string& path);
// ValueError, as Model::save() would throw it, for a model that cannot be written to a file.
void check_can_save(const Model& model, const SaveArgs& args = {});
// The same for Model::save_weights().
void check_can_save_weights(const Model& model);

// What save() and save_weights() would write, with copies of all tensors: written later, by any
// thread. The caller holds the model meanwhile, as a callback of fit does.
class SavedModel {
 public:
  explicit SavedModel(SafetensorsFile file) : file_(std::move(file)) {}
  bool weights_are_finite() const;  // float32 ones
  void write(const std::string& path) const;

 private:
  SafetensorsFile file_;
};
SavedModel saved_model_of(const Model& model);
SavedModel saved_weights_of(const Model& model);

// Bytes of the file that Model::save() would write.
size_t saved_bytes(const Model& model, const SaveArgs& args = {});

// Variables that the model's predictions are computed from and that none of its layers lists among
// its weights(): captured by a Lambda, made by an own layer without add_weight(). No file holds
// them.
std::vector<Variable> unowned_variables(ModelBase& model);

}  // namespace stoker
