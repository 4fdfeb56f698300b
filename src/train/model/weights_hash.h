// One name for all the weights of a model.
#pragma once

#include <string>

#include <stoker/model.h>

namespace stoker {

// SHA-256, as hexadecimal digits, of dtype, shape and bytes of every weight in the model's order,
// those that do not train included. Two models of the same architecture have the same one exactly
// when their weights are equal bit for bit. Waits for the device. Error for a Sequential that has
// not met an input.
std::string weights_sha256(const Model& model);

}  // namespace stoker
