// Why is this training slow? It decodes its pictures one after the other, on the thread that trains.
// The doctor says so, proves it and says what to do. Writes report/doctor.json and
// report/doctor.html; the verdict and the picture in README.md are from this program.
#include <cstdio>

#include "pictures.h"

using namespace stoker;

int main() {
  auto [pictures, labels] = draw_pictures(320, 320);
  data::Dataset train =
      data::from_slices({encoded(pictures), labels})
          .map(image::decode_jpeg() | image::resize(64, 64) | image::convert(DType::float32),
               {.name = "decode", .parallel = 1})
          .batch(32)
          .with_options({.as_written = true});
  Sequential model =
      compiled(Sequential({Input({64, 64, 3}), Conv2D(8, 3, {.activation = "relu"}), MaxPooling2D(),
                           Conv2D(16, 3, {.activation = "relu"}), GlobalAveragePooling2D(),
                           Dense(10, {.activation = "softmax"})}));

  doctor::Diagnosis diagnosis = doctor::diagnose(model, train, {.steps = 60, .seconds = 20});
  std::printf("%s\n", diagnosis.text().c_str());
  diagnosis.write("report");
}
