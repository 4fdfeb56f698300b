#include "jobs/demo.h"

#include <optional>
#include <ostream>

#include <fmt/ostream.h>
#include <stoker/dataset.h>
#include <stoker/doctor.h>
#include <stoker/layers.h>
#include <stoker/model.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/cores.h"
#include "jobs/demo_table.h"
#include "jobs/step_clock.h"
#include "train/model/memory_table.h"
#include "train/model/weights_hash.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

constexpr uint64_t kSeed = 1;
constexpr int64_t kSide = 64;

double now() { return double(steady_clock().now()) * 1e-9; }

// The chain as most people write it: read, decode, crop, flip, batch.
data::Dataset chain(const DemoOptions& options, bool as_written) {
  data::MapOptions map;
  if (as_written) map.parallel = 1;
  data::Dataset dataset = data::image_folder(options.folder + "/pictures/train")
                              .shuffle()
                              .map(image::decode_jpeg(), map)
                              .map(image::random_resized_crop(kSide, {.scale = {0.5, 1}}), map)
                              .map(image::random_flip_left_right(), map)
                              .batch(options.batch);
  return dataset.prefetch(as_written ? 0 : AUTOTUNE)
      .with_options(
          {.name = as_written ? "as written" : "stoker", .seed = kSeed, .as_written = as_written});
}

data::Dataset new_pictures(const DemoOptions& options) {
  return data::image_folder(options.folder + "/pictures/val")
      .map(image::decode_jpeg() | image::resize(kSide, kSide, {.antialias = true}))
      .batch(options.batch)
      .cache();
}

Model small_cnn() {
  default_context().seed.set(kSeed);
  Sequential model({
      Input({kSide, kSide, 3}, {.dtype = DType::uint8}),
      Rescaling(1.0 / 255),
      Conv2D(16, 3, {.strides = 2, .padding = "same", .activation = "relu"}),
      MaxPooling2D(2),
      Conv2D(32, 3, {.padding = "same", .activation = "relu"}),
      MaxPooling2D(2),
      Conv2D(64, 3, {.padding = "same", .activation = "relu"}),
      GlobalAveragePooling2D(),
      Dense(int64_t(demo_classes().size()), {.activation = "softmax"}),
  });
  model.compile({.optimizer = Adam({.learning_rate = 3e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

struct Run {
  json figures;
  std::string explained;
  std::optional<doctor::Diagnosis> diagnosis;  // none: too few steps
};

Run train(const DemoOptions& options, bool as_written) {
  data::Dataset train = chain(options, as_written);
  Model model = small_cnn();
  StepClock clock;
  History history = model.fit(
      train,
      {.epochs = options.epochs, .validation_data = new_pictures(options), .callbacks = {clock}});
  json explained = json::parse(train.explain_json());
  json figures{{"ms_per_step", 1e3 * clock.seconds_per_step()},
               {"samples_per_second", double(options.batch) / clock.seconds_per_step()},
               {"wait_ms_per_step", 1e3 * explained["seconds"].get<double>() *
                                        explained["consumer_wait_share"].get<double>() /
                                        std::max(1.0, explained["batches"].get<double>())},
               {"pipeline_peak_bytes", explained["memory_peak_bytes"]},
               {"workers", explained["workers"]},
               {"depth", explained["workers"] == 0 ? 0.0 : explained["depth"].get<double>()},
               {"stages", stage_costs(explained, options.batch)},
               {"steps", clock.steps()},
               {"val_accuracy", history["val_accuracy"].back()},
               {"loss", history["loss"].back()},
               {"weights_sha256", weights_sha256(model)}};
  return {std::move(figures), train.explain(), doctor::last_diagnosis(model)};
}

// What the doctor, who watches every fit, says of the slow form; its page lies beside the pictures.
void tell_diagnosis(const DemoOptions& options, const std::optional<doctor::Diagnosis>& diagnosis,
                    json& result, std::ostream& out) {
  if (!diagnosis) {
    fmt::print(out, "\n5. The doctor: too few steps to say anything\n");
    return;
  }
  diagnosis->write(options.folder);
  result["diagnosis"] = diagnosis->verdict.sentence;
  result["report"] = options.folder + "/doctor.html";
  fmt::print(out, "\n5. What the doctor, who watches every fit, says of the slow form\n   {}\n",
             diagnosis->verdict.sentence);
  for (const doctor::Prescription& each : diagnosis->prescriptions)
    fmt::print(out, "   → {}\n", each.what);
  fmt::print(out, "   All of it: {}/doctor.html\n", options.folder);
}

}  // namespace

json run_demo(const DemoOptions& options, std::ostream& out) {
  double begin = now();
  default_context().out = &out;
  const DemoPictures& pictures = options.pictures;
  fmt::print(out,
             "Stoker learns to tell ten kinds of shapes apart, from a folder of JPEG files, on {} "
             "cores.\n\n"
             "1. The pictures\n",
             available_cores());
  out << std::flush;
  int64_t bytes = write_demo_pictures(options.folder + "/pictures", pictures);
  fmt::print(out, "   {} files of {}×{} pixels, {}, in {}/pictures ({:.1f} s)\n",
             pictures.train + pictures.val, pictures.width, pictures.height,
             human_bytes(double(bytes)), options.folder, now() - begin);

  fmt::print(out,
             "\n2. As most people write it: read, decode, crop, flip, batch; one after the other, "
             "and then the step\n");
  Run before = train(options, true);
  fmt::print(out,
             "\n3. As Stoker runs it: the same lines; stages fused, batches made ahead, threads "
             "chosen\n");
  Run after = train(options, false);

  json result = comparison(before.figures, after.figures);
  result["pictures"] = options.folder + "/pictures";
  result["seconds"] = now() - begin;
  fmt::print(out, "\n4. Before and after\n{}", comparison_table(result));
  fmt::print(out, "\n{}", what_was_lost(result));
  tell_diagnosis(options, before.diagnosis, result, out);
  if (options.explain)
    fmt::print(out, "\nexplain() of the first:\n{}\nexplain() of the second:\n{}", before.explained,
               after.explained);
  fmt::print(out, "\nThe demo took {:.0f} s.\n", result["seconds"].get<double>());
  return result;
}

}  // namespace stoker::jobs
