// Arrays of NumPy: .npy files with one array, .npz files with several by name.
//
//   Tensor x = load_npy("x.npy");
//   TensorMap mnist = load_npz("mnist.npz");
//   auto train = data::npz("mnist.npz", {"x_train", "y_train"}).shuffle().batch(64);
//
// bool, int8 … int64, uint8, float16 and float32 come as they are; uint16 as int32, uint32 and uint64 as
// int64, float64 as float32, strings as bytes. Files are not trusted, and pickled objects are refused:
// whatever a file holds, reading it ends in tensors or in one FileError. docs/formats/numpy.md.
#pragma once

#include <string>
#include <vector>

#include <stoker/dataset.h>
#include <stoker/safetensors.h>

namespace stoker {

Tensor load_npy(const std::string& path);
TensorMap load_npz(const std::string& path);

struct SaveNpzOptions {
  bool compressed = false;  // as np.savez_compressed
};
// Atomic: the old file or all of the new one. The same tensors give the same bytes. Texts become
// strings of one length, as NumPy keeps them. ValueError for bfloat16.
void save_npy(const std::string& path, const Tensor& tensor);
void save_npz(const std::string& path, const TensorMap& tensors,
              const SaveNpzOptions& options = {});

namespace data {

// Rows of arrays that have the same number of them, one component per file; in memory.
Dataset npy(const std::vector<std::string>& paths);
// Of one file, one component per name; none: all arrays, by name.
Dataset npz(const std::string& path, const std::vector<std::string>& names = {});

}  // namespace data

}  // namespace stoker
