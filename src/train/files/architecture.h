// A model's architecture as JSON text, and back: docs/formats/stoker-model.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nn/layer_factory.h"
#include "train/model/model_base.h"

namespace stoker {

inline constexpr int kMaxNesting = 32;  // models inside models

// Constants that the model's ops refer to are appended to `constants`. ValueError for what a file
// cannot hold.
std::string architecture_to_json(const ModelBase& model, std::vector<Tensor>& constants);

// The text is not trusted: an Error, mostly ValueError or ShapeError, says what is wrong and where.
std::shared_ptr<ModelBase> architecture_from_json(std::string_view text,
                                                  const std::vector<Tensor>& constants,
                                                  const LayerFactories& custom);

}  // namespace stoker
