// What the networks of keras.applications share: the checks of their options, heads and names.
#pragma once

#include <map>
#include <string>

#include <stoker/applications.h>
#include <stoker/layers.h>

namespace stoker::applications {

// Pixels in each direction.
struct PictureSize {
  int64_t standard = 224;  // where no shape is given
  int64_t least = 32;
  bool any_with_top = false;  // the classifier takes pictures of any size
};

// A network while it is being put together.
struct Network {
  std::string function;  // "ResNet50", for errors
  ApplicationOptions options;
  Value input;
};

// Options of any family as those that all have.
template <class Options>
ApplicationOptions common_options(const Options& options) {
  return {options.include_top, options.weights, options.input_shape,
          options.pooling,     options.classes, options.classifier_activation,
          options.name};
}

// Checks the options and begins with an Input. `name` is the model's where the caller gives none.
Network start(const char* function, const std::string& name, ApplicationOptions options,
              const PictureSize& size = {});

// ValueError unless the factor of a network's filters is above 0 and at most 100.
void check_alpha(const char* function, double alpha);

// Names of pooling layers after the features; "": as they come.
struct PoolNames {
  const char* average = "";
  const char* max = "";
};
inline constexpr PoolNames kPoolNames = {"avg_pool", "max_pool"};

// Without the top: what .pooling asks for.
Value pooled(const Network& network, const Value& features, const PoolNames& names = {});
// Dense to the classes, called "predictions".
Value predictions(const Network& network, const Value& features,
                  const Initializer& kernel = "glorot_uniform");
// The usual end: the mean over the picture, then predictions; or pooled().
Model finish(const Network& network, const Value& features, const PoolNames& names = {});
// The model to `output`, with the weights of the options.
Model complete(const Network& network, const Value& output);

// "conv2d", "conv2d_1", …: what Keras calls layers without a name in a fresh session.
class KerasNames {
 public:
  std::string operator()(const std::string& kind);

 private:
  std::map<std::string, int> used_;
};

// Keras's padding of a convolution of stride 2, which depends on whether the picture's sides are
// even; sides that are not known count as even.
Edges2 correct_pad(const Value& x, int64_t kernel);

// The multiple of `divisor` nearest to `channels`, but not below 90 % of it.
int64_t make_divisible(double channels, int64_t divisor = 8);

}  // namespace stoker::applications
