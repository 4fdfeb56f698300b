// How far models agree about the same samples.
#include <algorithm>
#include <cmath>

#include "compress/compared.h"
#include "train/model/trainer.h"

namespace stoker::compress {

namespace {

// Of output `index`; empty: the model is not compiled.
Loss loss_of(const Model& model, size_t index) {
  const Trainer& trainer = *ModelAccess::base(model).trainer;
  bool known = trainer.compiled != nullptr && trainer.compiled->losses.size() > index;
  return known ? trainer.compiled->losses[index] : Loss();
}

int64_t largest(const float* row, int64_t classes) {
  return std::max_element(row, row + classes) - row;
}

bool starts_with_any_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* word) { return text.starts_with(word); });
}

}  // namespace

Agreement::Agreement(const Model& first, size_t models) : models_(models) {
  for (size_t i = 0; i < first.outputs().size(); ++i) {
    Loss loss = loss_of(first, i);
    const Shape& shape = first.outputs()[i].shape();
    bool many = shape.rank() > 1 && shape[-1] != 1;
    Kind kind = Kind::numbers;
    if (starts_with_any_of(loss.kind(), {"Binary"}))
      kind = Kind::labels;
    else if (many && (!loss.defined() || loss.custom() ||
                      starts_with_any_of(loss.kind(), {"Categorical", "SparseCategorical", "KL"})))
      kind = Kind::classes;
    kinds_.push_back(kind);
    thresholds_.push_back(loss.defined() && loss.config().get_or("from_logits", false) ? 0.0 : 0.5);
    sums_.emplace_back(models, std::vector<Moments>(models));
  }
}

void Agreement::add_pair(Moments& sums, size_t output, const Tensor& a, const Tensor& b) const {
  const float *left = a.data<float>(), *right = b.data<float>();
  int64_t count = a.elements(), classes = kinds_[output] == Kind::classes ? a.shape()[-1] : 1;
  for (int64_t i = 0; i + classes <= count; i += classes) {
    double x = double(left[i]), y = double(right[i]);
    if (kinds_[output] != Kind::numbers) {
      double side = thresholds_[output];
      bool same = kinds_[output] == Kind::classes
                      ? largest(left + i, classes) == largest(right + i, classes)
                      : (x > side) == (y > side);
      sums.ab += same ? 1 : 0;
    } else {
      sums.a += x, sums.b += y, sums.aa += x * x, sums.bb += y * y, sums.ab += x * y;
    }
    sums.count += 1;
  }
}

void Agreement::add(const std::vector<std::vector<Tensor>>& outputs) {
  for (size_t output = 0; output < kinds_.size(); ++output)
    for (size_t i = 0; i < models_; ++i)
      for (size_t k = i; k < models_; ++k)
        add_pair(sums_[output][i][k], output, outputs[i][output], outputs[k][output]);
}

std::vector<std::vector<double>> Agreement::result() const {
  std::vector<std::vector<double>> matrix(models_, std::vector<double>(models_, 0.0));
  for (size_t output = 0; output < kinds_.size(); ++output)
    for (size_t i = 0; i < models_; ++i)
      for (size_t k = i; k < models_; ++k) {
        const Moments& sums = sums_[output][i][k];
        double n = std::max(sums.count, 1.0), value = sums.ab / n;
        if (kinds_[output] == Kind::numbers) {
          double covariance = sums.ab / n - sums.a / n * sums.b / n;
          double spread = std::sqrt((sums.aa / n - std::pow(sums.a / n, 2)) *
                                    (sums.bb / n - std::pow(sums.b / n, 2)));
          value = i == k ? 1 : spread > 0 ? covariance / spread : 0;
        }
        matrix[i][k] += value / double(kinds_.size());
        matrix[k][i] = matrix[i][k];
      }
  return matrix;
}

const char* Agreement::kind() const {
  return kinds_[0] == Kind::classes ? "classes" : kinds_[0] == Kind::labels ? "labels" : "numbers";
}

}  // namespace stoker::compress
