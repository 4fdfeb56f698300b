#include "support/onnx_files.h"

#include <stoker/random.h>

#include "formats/safetensors.h"
#include "support/faulty_files.h"
#include "train/model/model_base.h"

namespace stoker::test {

namespace {

class UnsyncedFiles : public FaultyFiles {
 public:
  std::unique_ptr<FileWriter> create(const std::string& path, Write mode) override {
    return std::make_unique<Unsynced>(FaultyFiles::create(path, mode));
  }
  void sync_directory(const std::string&) override {}

 private:
  class Unsynced : public FileWriter {
   public:
    explicit Unsynced(std::unique_ptr<FileWriter> inner) : inner_(std::move(inner)) {}
    void write(std::span<const std::byte> bytes) override { inner_->write(bytes); }
    void sync() override {}

   private:
    std::unique_ptr<FileWriter> inner_;
  };
};

// Normal numbers, or integers of [0, 4).
Tensor random_rows(const TensorSpec& row, int64_t batch, uint64_t seed) {
  Shape shape = row.shape;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] < 0) shape.set(axis, 6 + batch);  // unknown: another one for each batch size
  Tensor tensor(DType::float32, shape.prepend(batch));
  Rng rng(seed);
  float* out = tensor.data_mut<float>();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    out[i] = is_floating(row.dtype) ? rng.normal() : float(rng.integer(0, 4));
  return tensor.cast(row.dtype);
}

}  // namespace

void OnnxFiles::add_case(const std::string& name,
                         const std::vector<std::pair<std::string, Tensor>>& inputs,
                         const std::vector<std::pair<std::string, Tensor>>& outputs) {
  SafetensorsFile file;
  for (const auto& [key, tensor] : inputs) file.tensors.emplace_back("input:" + key, tensor);
  for (const auto& [key, tensor] : outputs) file.tensors.emplace_back("output:" + key, tensor);
  UnsyncedFiles files;
  write_safetensors(dir_ / (name + "." + std::to_string(cases_++) + ".safetensors"), file, files);
}

void OnnxFiles::write(const std::string& name, const OnnxModel& model) {
  UnsyncedFiles files;
  write_onnx(path(name), model, files);
}

void OnnxFiles::add(const std::string& name, const Model& model, const OnnxOptions& options,
                    const std::vector<int64_t>& batches) {
  export_onnx(model, path(name), options);
  const Topology& topology = ModelAccess::base(model).topology("the test");
  for (int64_t batch : batches) {
    std::vector<Tensor> x;
    std::vector<std::pair<std::string, Tensor>> inputs, outputs;
    for (size_t i = 0; i < topology.inputs.size(); ++i) {
      x.push_back(random_rows(topology.input_row(i), batch, uint64_t(100 * batch) + i));
      inputs.emplace_back(topology.input_names[i], x.back());
    }
    std::vector<Tensor> y = model.predict_all(x, {.batch_size = batch});
    for (size_t i = 0; i < y.size(); ++i) outputs.emplace_back(topology.output_names[i], y[i]);
    add_case(name, inputs, outputs);
  }
}

}  // namespace stoker::test
