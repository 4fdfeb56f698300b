// TFRecord files of tf.train.Examples, written as TensorFlow writes them. dataset.h reads them:
// data::tfrecord and data::parse_example.
//
//   data::TfRecordWriter writer("train.tfrecord");
//   for (const Batch& element : photos)
//     writer.write(data::serialize_example({{"image", element[0]}, {"label", element[1]}}));
//   writer.close();
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stoker/tensor.h>

namespace stoker::data {

// A tf.train.Example as bytes: features by name, each a list of byte strings (bytes), floats (float32,
// float16, bfloat16) or int64 (integers, bool). Shapes are not kept: whoever reads it gives them again.
// ValueError for a name that comes twice and for an undefined tensor.
// Keras: `tf.train.Example.SerializeToString`
std::string serialize_example(const std::vector<std::pair<std::string, Tensor>>& features);

// Records of any bytes, one after the other, not compressed. They stand under a temporary name until
// close() puts the file in its place, so that `path` is never half a file. A writer that ends without
// close() closes, too, but cannot say what went wrong then; one that ends in an exception leaves
// nothing. FileError for what the disk does not take. One thread at a time.
// Keras: `tf.io.TFRecordWriter`
class TfRecordWriter {
 public:
  explicit TfRecordWriter(const std::string& path);
  TfRecordWriter(TfRecordWriter&&) noexcept;
  TfRecordWriter& operator=(TfRecordWriter&&) noexcept;
  ~TfRecordWriter();

  void write(std::string_view record);  // Error after close()
  void close();                         // nothing the second time

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace stoker::data
