// TFRecord files that a program writes.
#include <exception>
#include <set>

#include <fmt/format.h>
#include <stoker/tfrecord.h>

#include "base/atomic_file.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"

namespace stoker::data {

namespace {

void add_feature(ExampleWriter& example, const std::string& name, const Tensor& values) {
  if (values.dtype() == DType::bytes) {
    auto texts = values.values<std::string>();
    example.add(name, std::vector<std::string_view>(texts.begin(), texts.end()));
  } else if (is_floating(values.dtype())) {
    example.add(name, values.to_vector<float>());
  } else {
    example.add(name, values.to_vector<int64_t>());
  }
}

}  // namespace

std::string serialize_example(const std::vector<std::pair<std::string, Tensor>>& features) {
  ExampleWriter example;
  std::set<std::string_view> names;
  for (const auto& [name, values] : features) {
    if (!names.insert(name).second)
      throw ValueError(fmt::format("serialize_example: feature \"{}\" comes twice", name));
    if (!values.defined())
      throw ValueError(
          fmt::format("serialize_example: feature \"{}\" is an undefined tensor", name));
    add_feature(example, name, values);
  }
  return example.record();
}

struct TfRecordWriter::Open {
  explicit Open(const std::string& path) : file(path) {}
  AtomicFile file;
  TFRecordWriter records{file};
  int exceptions = std::uncaught_exceptions();
};

TfRecordWriter::TfRecordWriter(const std::string& path) : open_(std::make_unique<Open>(path)) {}
TfRecordWriter::TfRecordWriter(TfRecordWriter&&) noexcept = default;
TfRecordWriter& TfRecordWriter::operator=(TfRecordWriter&& other) noexcept {
  std::swap(open_, other.open_);
  return *this;
}

TfRecordWriter::~TfRecordWriter() {
  if (open_ == nullptr || std::uncaught_exceptions() > open_->exceptions) return;
  try {
    close();
  } catch (const Error&) {
    // A destructor cannot report it; close() does.
  }
}

void TfRecordWriter::write(std::string_view record) {
  if (open_ == nullptr) throw Error("TfRecordWriter: write() after close()");
  open_->records.write(as_bytes(record));
}

void TfRecordWriter::close() {
  if (open_ == nullptr) return;
  std::unique_ptr<Open> open = std::move(open_);
  open->records.flush();
  open->file.commit();
}

}  // namespace stoker::data
