// Batch norm: x: [N, C], statistics over N. Layer norm: x: [N, D], statistics over D. Leading axes
// are folded into N, trailing ones into D.
#include <cmath>

#include "engine/reference/indexing.h"
#include "engine/reference/kernel.h"
#include "engine/reference/unary_math.h"

namespace stoker::reference {

namespace {

struct Moments {
  Number mean = 0, variance = 0;
};

// Of `count` numbers, `stride` apart.
Moments moments(const Number* x, int64_t count, int64_t stride) {
  Moments result;
  for (int64_t i = 0; i < count; ++i) result.mean += x[i * stride] / Number(count);
  for (int64_t i = 0; i < count; ++i) {
    Number difference = x[i * stride] - result.mean;
    result.variance += difference * difference / Number(count);
  }
  return result;
}

void batch_norm(const Call& call) {
  const Array &x = call.in(0), &gamma = call.in(1), &beta = call.in(2);
  auto epsilon = call.attrs.get<double>("epsilon");
  Activation activation(call.attrs);
  auto [rows, channels] = Rows(x.shape());
  for (int64_t c = 0; c < channels; ++c) {
    auto [mean, variance] = moments(x.data.data() + c, rows, channels);
    call.out(1)[c] = mean;
    call.out(2)[c] = variance;
    Number rstd = 1 / std::sqrt(variance + epsilon);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t i = row * channels + c;
      call.out()[i] = activation((x[i] - mean) * rstd * gamma[c] + beta[c]);
    }
  }
}

void batch_norm_grad(const Call& call) {
  const Array &dy = call.in(0), &x = call.in(1), &gamma = call.in(2);
  const Array &mean = call.in(3), &variance = call.in(4);
  const Array* y = call.inputs.size() > 5 ? &call.in(5) : nullptr;
  Array &dx = call.out(0), &dgamma = call.out(1), &dbeta = call.out(2);
  auto epsilon = call.attrs.get<double>("epsilon");
  auto [rows, channels] = Rows(x.shape());
  auto gradient = [&](int64_t i) { return y == nullptr || (*y)[i] > 0 ? dy[i] : 0; };
  for (int64_t c = 0; c < channels; ++c) {
    Number rstd = 1 / std::sqrt(variance[c] + epsilon);
    auto normalized = [&](int64_t i) { return (x[i] - mean[c]) * rstd; };
    for (int64_t i = c; i < x.size(); i += channels) {
      dbeta[c] += gradient(i);
      dgamma[c] += gradient(i) * normalized(i);
    }
    for (int64_t i = c; i < x.size(); i += channels)
      dx[i] =
          gamma[c] * rstd * (gradient(i) - (dbeta[c] + normalized(i) * dgamma[c]) / Number(rows));
  }
}

void batch_norm_inference(const Call& call) {
  const Array &x = call.in(0), &gamma = call.in(1), &beta = call.in(2);
  const Array &mean = call.in(3), &variance = call.in(4);
  auto epsilon = call.attrs.get<double>("epsilon");
  Activation activation(call.attrs);
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t c = i % gamma.size();
    Number normalized = (x[i] - mean[c]) / std::sqrt(variance[c] + epsilon);
    call.out()[i] = activation(normalized * gamma[c] + beta[c]);
  }
}

void layer_norm(const Call& call) {
  const Array &x = call.in(0), &gamma = call.in(1), &beta = call.in(2);
  auto epsilon = call.attrs.get<double>("epsilon");
  auto [rows, features] = Rows(x.shape(), gamma.shape().rank());
  for (int64_t row = 0; row < rows; ++row) {
    auto [mean, variance] = moments(x.data.data() + row * features, features, 1);
    Number rstd = 1 / std::sqrt(variance + epsilon);
    call.out(1)[row] = mean;
    call.out(2)[row] = rstd;
    for (int64_t feature = 0; feature < features; ++feature) {
      int64_t i = row * features + feature;
      call.out()[i] = (x[i] - mean) * rstd * gamma[feature] + beta[feature];
    }
  }
}

void layer_norm_grad(const Call& call) {
  const Array &dy = call.in(0), &x = call.in(1), &gamma = call.in(2);
  const Array &mean = call.in(3), &rstd = call.in(4);
  Array &dx = call.out(0), &dgamma = call.out(1), &dbeta = call.out(2);
  auto [rows, features] = Rows(x.shape(), gamma.shape().rank());
  for (int64_t row = 0; row < rows; ++row) {
    Number sum = 0, product_sum = 0;  // of d = dy * gamma, and of d * normalized x
    auto normalized = [&](int64_t i) { return (x[i] - mean[row]) * rstd[row]; };
    for (int64_t feature = 0; feature < features; ++feature) {
      int64_t i = row * features + feature;
      dbeta[feature] += dy[i];
      dgamma[feature] += dy[i] * normalized(i);
      sum += dy[i] * gamma[feature];
      product_sum += dy[i] * gamma[feature] * normalized(i);
    }
    for (int64_t feature = 0; feature < features; ++feature) {
      int64_t i = row * features + feature;
      dx[i] = rstd[row] *
              (dy[i] * gamma[feature] - (sum + normalized(i) * product_sum) / Number(features));
    }
  }
}

}  // namespace

void add_normalization_kernels(KernelTable& table) {
  table["batch_norm"] = batch_norm;
  table["batch_norm_grad"] = batch_norm_grad;
  table["batch_norm_inference"] = batch_norm_inference;
  table["layer_norm"] = layer_norm;
  table["layer_norm_grad"] = layer_norm_grad;
}

}  // namespace stoker::reference
