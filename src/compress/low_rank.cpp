// Dense → two factors of low rank.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "compress/lighter.h"
#include "compress/masks.h"
#include "compress/rebuild.h"
#include "compress/symmetric_eigen.h"

namespace stoker {

namespace {

using compress::TensorsByName;

struct Factors {
  Tensor left, right;  // [inputs, rank], [rank, units]
  int64_t rank = 0;
  double error = 0;
};

// Ranks below this make a layer lighter.
int64_t useful_rank(int64_t inputs, int64_t units) {
  return (inputs * units - 1) / (inputs + units);
}

// squares: of the singular values, descending.
int64_t rank_for(const std::vector<double>& squares, double energy) {
  double all = std::accumulate(squares.begin(), squares.end(), 0.0), kept = 0;
  int64_t rank = 0;
  while (rank < int64_t(squares.size()) && (rank == 0 || kept < energy * all))
    kept += squares[size_t(rank++)];
  return rank;
}

// The products of the columns of `kernel` with each other, or of its rows: of what there is less.
std::vector<std::vector<double>> gram(const Tensor& kernel, bool of_columns) {
  int64_t rows = kernel.shape()[0], columns = kernel.shape()[1], size = of_columns ? columns : rows;
  const float* values = kernel.data<float>();
  std::vector<std::vector<double>> products(size_t(size), std::vector<double>(size_t(size), 0.0));
  for (int64_t at = 0; at < (of_columns ? rows : columns); ++at) {
    std::vector<double> one;
    for (int64_t i = 0; i < size; ++i)
      one.push_back(double(of_columns ? values[at * columns + i] : values[i * columns + at]));
    for (size_t i = 0; i < one.size(); ++i)
      for (size_t k = 0; k < one.size(); ++k) products[i][k] += one[i] * one[k];
  }
  return products;
}

// W ≈ (W v) vᵀ with the eigenvectors v of WᵀW, or u (uᵀ W) with those of WWᵀ. Both factors get the
// same scale, so that one learning rate suits them.
Factors factors_of(const Tensor& kernel, const LowRankOptions& options) {
  int64_t inputs = kernel.shape()[0], units = kernel.shape()[1];
  bool of_columns = units <= inputs;
  compress::SymmetricEigen eigen = compress::symmetric_eigen(gram(kernel, of_columns));
  for (double& each : eigen.values) each = std::max(each, 0.0);
  int64_t count = std::min(inputs, units);
  int64_t rank =
      std::min(options.rank ? *options.rank : rank_for(eigen.values, options.energy), count);
  Factors made{Tensor(DType::float32, {inputs, rank}), Tensor(DType::float32, {rank, units}), rank};
  float *left = made.left.data_mut<float>(), *right = made.right.data_mut<float>();
  const float* from = kernel.data<float>();
  for (int64_t part = 0; part < rank; ++part) {
    const std::vector<double>& vector = eigen.vectors[size_t(part)];
    double root = std::pow(eigen.values[size_t(part)], 0.25);  // of the singular value
    double along = root > 0 ? 1 / root : 0;
    for (int64_t row = 0; row < inputs; ++row) {
      double sum = of_columns ? 0 : vector[size_t(row)] * root;
      for (int64_t column = 0; of_columns && column < units; ++column)
        sum += double(from[row * units + column]) * vector[size_t(column)];
      left[row * rank + part] = float(of_columns ? sum * along : sum);
    }
    std::vector<double> line(static_cast<size_t>(units), 0.0);
    for (int64_t row = 0; !of_columns && row < inputs; ++row)
      for (int64_t column = 0; column < units; ++column)
        line[size_t(column)] += vector[size_t(row)] * double(from[row * units + column]);
    for (int64_t column = 0; column < units; ++column)
      right[part * units + column] =
          float(of_columns ? vector[size_t(column)] * root : line[size_t(column)] * along);
  }
  double all = std::accumulate(eigen.values.begin(), eigen.values.end(), 0.0);
  double lost = std::accumulate(eigen.values.begin() + rank, eigen.values.end(), 0.0);
  made.error = all > 0 ? std::sqrt(lost / all) : 0;
  return made;
}

// The two layers as a model by the layer's name: "dense/left", "dense/right".
Layer factored_layer(const Layer& layer, const Attrs& config, int64_t rank, const std::string& path,
                     const CustomObjects& objects) {
  Attrs first = {{"units", rank}, {"use_bias", false}};
  if (const Attr* policy = config.find("dtype_policy")) first.set("dtype_policy", *policy);
  Layer left = layer_from_config("Dense", "left", first, objects.layers, {.path = path + "/left"});
  Layer right = layer_from_config("Dense", "right", config, objects.layers, {.path = path});
  Sequential both({left, right}, {.name = layer.name()});
  if (!layer.trainable()) both.set_trainable(false);
  return both;
}

void check_low_rank(const LowRankOptions& options) {
  if (options.rank && *options.rank < 1)
    throw ValueError(fmt::format("low_rank: rank is {}, expected 1 or more", *options.rank));
  if (!(options.energy > 0 && options.energy <= 1))
    throw ValueError(
        fmt::format("low_rank: energy is {}, expected a number in (0, 1]", options.energy));
}

}  // namespace

Lighter low_rank(const Model& model, const LowRankOptions& options) {
  check_low_rank(options);
  compress::Selection selection(model, options.layers, options.exclude, "low_rank");
  TensorsByName weights = compress::tensors_of(model);
  LighterReport report;
  auto make = [&](const Layer& layer, const std::string& path) {
    Attrs config = full_config(layer.base());
    auto same = [&] { return compress::made_again(layer, config, path, options.custom_objects); };
    bool candidate = layer.base().kind() == "Dense" && !is_own_class(layer.base());
    if (!candidate) {
      if (selection.has(path) && !options.layers.empty())
        selection.pass_over(path, "it is no Dense", report);
      return same();
    }
    if (!selection.has(path)) {
      report.unchanged.push_back({path, "is not selected"});
      return same();
    }
    Tensor kernel = weights.at(path + "/kernel");
    compress::check_finite(path + "/kernel", kernel);
    Factors factors = factors_of(kernel, options);
    if (factors.rank > useful_rank(kernel.shape()[0], kernel.shape()[1])) {
      selection.pass_over(path,
                          fmt::format("rank {} of {} would make it no lighter", factors.rank,
                                      to_string(kernel.shape())),
                          report);
      return same();
    }
    weights.erase(path + "/kernel");
    weights[path + "/left/kernel"] = factors.left;
    weights[path + "/right/kernel"] = factors.right;
    if (auto bias = weights.find(path + "/bias"); bias != weights.end())
      weights[path + "/right/bias"] = bias->second;
    report.changes.push_back(
        {path, fmt::format("Dense {} → rank {}", to_string(kernel.shape()), factors.rank),
         factors.error});
    return factored_layer(layer, config, factors.rank, path, options.custom_objects);
  };
  Model made = rebuilt(model, make, "low_rank");
  selection.check_changed(report);
  compress::write_weights(made, weights);
  compress::count_costs(model, made, report);
  return {made, std::move(report)};
}

}  // namespace stoker
