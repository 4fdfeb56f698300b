// Ops over the rows of a matrix: softmax, crossentropy, layer normalisation; and batch
// normalisation.
#include <fmt/format.h>

#include "kernels/cases.h"

namespace stoker::bench {

void add_rows(const Sizes& sizes, std::vector<KernelCase>& cases) {
  for (int64_t classes : {3, 10, 1000, 50000}) {
    Shape logits = sizes.exact_rows_of(classes);
    cases.push_back({fmt::format("softmax over {}", classes), {{logits}}, [](const Values& x) {
                       return ops::softmax(x[0]);
                     }});
    cases.push_back(
        {fmt::format("sparse crossentropy over {}", classes),
         {{logits}, {{logits[0]}, classes, false}},
         [](const Values& x) { return ops::sparse_softmax_cross_entropy(x[0], x[1]); }});
  }
  for (int64_t width : {96, 768, 4096}) {
    Shape shape = sizes.rows_of(width);
    Operand scale{.shape = {shape[1]}, .wide = true};
    cases.push_back({fmt::format("layer norm over {}", width),
                     {{shape}, scale, scale},
                     [](const Values& x) { return ops::layer_norm(x[0], x[1], x[2]); }});
  }
  for (int64_t channels : {64, 256}) {
    Shape shape = sizes.images_of(56, channels);
    Operand scale{.shape = {shape[3]}, .wide = true};
    cases.push_back({fmt::format("batch norm of {} channels", channels),
                     {{shape}, scale, scale},
                     [](const Values& x) { return ops::batch_norm(x[0], x[1], x[2]).y; }});
    cases.push_back(
        {fmt::format("batch norm of {} channels, relu", channels),
         {{shape}, scale, scale},
         [](const Values& x) { return ops::relu(ops::batch_norm(x[0], x[1], x[2]).y); }});
  }
}

}  // namespace stoker::bench
