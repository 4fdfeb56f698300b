// For tests of shards: elements with everything in them, written and read back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <stoker/error.h>

#include "formats/shards.h"

namespace stoker::test {

using Element = std::vector<Tensor>;

inline void write(ShardWriter& writer, int64_t index, const Element& element) {
  std::vector<ConstTensorView> views(element.begin(), element.end());
  writer.write(index, views);
}

// The record as tensors, to compare.
inline Element tensors_of(const ShardRecord& record) {
  Element element;
  for (size_t component = 0; component < record.size(); ++component) {
    const TensorSpec& spec = record.spec(component);
    Tensor tensor(spec.dtype, spec.shape);
    if (spec.dtype == DType::bytes) {
      auto strings = record.strings(component);
      std::copy(strings.begin(), strings.end(), tensor.data_mut<std::string>());
    } else {
      copy_values(record.view(component), {spec.dtype, spec.shape, tensor.raw_mut()});
    }
    element.push_back(tensor);
  }
  return element;
}

inline std::vector<Element> read_all(const std::string& path, const ShardReadOptions& options = {},
                                     FileSystem& files = local_files()) {
  std::vector<Element> elements;
  ShardReader reader(path, options, files);
  ShardRecord record;
  for (int64_t index = 0; index < reader.size(); ++index) {
    reader.read(index, record);
    elements.push_back(tensors_of(record));
  }
  return elements;
}

inline std::string read_error(const std::string& path, const ShardReadOptions& options = {},
                              FileSystem& files = local_files()) {
  try {
    read_all(path, options, files);
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()).find(path), 0U) << error.what();
    return error.what();
  }
  return "no error";
}

// A picture of any height, a label, a mask and some texts.
inline const std::vector<TensorSpec> kSpec = {{DType::uint8, {-1, 5, 3}},
                                              {DType::int64, {}},
                                              {DType::bool_, {2}},
                                              {DType::bytes, {-1}},
                                              {DType::float32, {4, 5}}};

inline Element element(int64_t index) {
  Tensor image = Tensor::full({index % 4, 5, 3}, double(index), DType::uint8);
  std::vector<std::string> texts;
  for (int64_t text = 0; text < index % 3; ++text)
    texts.push_back(std::string(size_t(index * 7 % 100), char('a' + text)));
  return {image, Tensor::from<int64_t>({index - 2}, {}),
          Tensor::from<uint8_t>({uint8_t(index % 2), 1}, {2}).cast(DType::bool_),
          Tensor::from(texts, {index % 3}), Tensor::full({4, 5}, double(index) / 8)};
}

inline std::vector<Element> elements(int64_t count) {
  std::vector<Element> all;
  for (int64_t index = 0; index < count; ++index) all.push_back(element(index));
  return all;
}

inline void write_elements(const std::string& path, int64_t count, const ShardOptions& options = {},
                           FileSystem& files = local_files()) {
  ShardWriter writer(path, kSpec, options, files);
  for (int64_t index = 0; index < count; ++index) write(writer, index, element(index));
  writer.finish();
}

inline std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : local_files().list(path)) names.push_back(entry.name);
  return names;
}

}  // namespace stoker::test
