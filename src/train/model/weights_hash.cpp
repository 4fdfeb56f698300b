#include "train/model/weights_hash.h"

#include "base/file.h"
#include "formats/sha256.h"
#include "train/model/weight_paths.h"

namespace stoker {

std::string weights_sha256(const Model& model) {
  const ModelBase& base = ModelAccess::base(model);
  base.topology("weights_sha256");
  Sha256 hash;
  for (const auto& [path, variable] : named_weights(base)) {
    Tensor tensor = variable.read();
    hash.update(as_bytes(to_string(tensor.spec()) + "\n"));
    hash.update({static_cast<const std::byte*>(tensor.raw()), tensor.bytes()});
  }
  return hash.hex();
}

}  // namespace stoker
