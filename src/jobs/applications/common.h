// What the known networks share.
#pragma once

#include <stoker/applications.h>
#include <stoker/layers.h>

namespace stoker::applications {

// Where a network begins: numbers of float32, whatever the pictures are.
struct Beginning {
  Value input, x;
};
Beginning begin(const Options& options);

// The model from `beginning` to a softmax over the classes of `features`, [B, C].
Model end(const Beginning& beginning, const Value& features, const Options& options,
          const char* name);

// ShapeError unless the input is a picture of at least `pixels` in both directions.
void expect_picture(const Options& options, int64_t pixels, const char* name);

}  // namespace stoker::applications
