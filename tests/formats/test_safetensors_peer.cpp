// Both ways with the official Python package: check_safetensors.py.
#include <iostream>

#include <gtest/gtest.h>
#include <stoker/safetensors.h>

#include "support/peer_python.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

const TextMap kMetadata = {{"format", "pt"}, {"note", "ä \"quoted\"\n"}};

TensorMap all_dtypes() {
  TensorMap tensors = {{"scalar", Tensor::full({}, -7, DType::int64)},
                       {"empty", Tensor::zeros({0, 4})}};
  Tensor counted = Tensor::from<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  for (DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int16,
                      DType::int32, DType::int64, DType::uint8, DType::bool_})
    tensors[std::string(name(dtype))] = counted.cast(dtype);
  return tensors;
}

TEST(SafetensorsPackage, ReadsOursAndWritesWhatWeRead) {
  test::TempDir dir;
  save_safetensors(dir / "ours.safetensors", all_dtypes(), kMetadata);
  TensorMap many;
  for (int i = 0; i < 20000; ++i) many["layer_" + std::to_string(i) + "/weight"] = Tensor(float(i));
  save_safetensors(dir / "many.safetensors", many);
  STOKER_EXPECT_PEER("formats/check_safetensors.py", dir.path().string());
  EXPECT_EQ(load_safetensors(dir / "theirs.safetensors"), all_dtypes());
  EXPECT_EQ(load_safetensors_metadata(dir / "theirs.safetensors"), kMetadata);
}

TEST(Safetensors, AreSavedAndLoadedByName) {
  test::TempDir dir;
  save_safetensors(dir / "a", all_dtypes(), kMetadata);
  EXPECT_EQ(load_safetensors(dir / "a"), all_dtypes());
  EXPECT_EQ(load_safetensors_metadata(dir / "a"), kMetadata);
  save_safetensors(dir / "none", {});
  EXPECT_TRUE(load_safetensors(dir / "none").empty());
  EXPECT_TRUE(load_safetensors_metadata(dir / "none").empty());
  EXPECT_THROW(load_safetensors(dir / "absent"), FileError);
  EXPECT_THROW(load_safetensors_metadata(dir.write("text", "not tensors")), FileError);
}

}  // namespace
}  // namespace stoker
