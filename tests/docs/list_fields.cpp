// Prints what the option tables say, for scripts/reference.py: per kind or option struct its options,
// and what their values may be.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "data/image/option_fields.h"
#include "nn/constraints.h"
#include "nn/initializers/initializer_kind.h"
#include "nn/layer_factory.h"
#include "nn/losses/loss_kind.h"
#include "nn/metrics/metric_kind.h"
#include "train/callbacks/callback_support.h"
#include "train/optimizers/optimizer_kinds.h"
#include "train/optimizers/schedule_kind.h"

namespace stoker {
namespace {

using Json = nlohmann::ordered_json;

void add(Json& all, const std::string& name, const std::vector<FieldText>& fields) {
  for (const FieldText& field : fields)
    all[name][field.name] = {{"expected", field.expected}, {"default", field.fallback}};
}

template <class Kinds>
void add_kinds(Json& all, const Kinds& kinds) {
  for (const auto& kind : kinds) add(all, std::string(kind.names.kind), kind.fields());
}

template <class Options>
void add_callback(Json& all, const char* name) {
  add(all, name, callback_fields<Options>().text());
}

template <class Options>
void add_image(Json& all, const char* name) {
  add(all, name, image::image_fields<Options>().text());
}

Json tables() {
  Json all = Json::object();
  for (const auto& [kind, layer] : built_in_layers())
    if (layer.fields) add(all, kind == "InputLayer" ? "Input" : kind, layer.fields());
  add_kinds(all, loss_kinds());
  add_kinds(all, metric_kinds());
  add_kinds(all, initializer_kinds());
  add_kinds(all, constraint_kinds());
  for (const auto& optimizer : optimizer_kinds()) add(all, optimizer->kind, optimizer->fields);
  add(all, multi_optimizer_kind()->kind, multi_optimizer_kind()->fields);
  for (const ScheduleKind& schedule : schedule_kinds()) add(all, schedule.kind, schedule.fields());
  add_callback<EarlyStoppingOptions>(all, "EarlyStoppingOptions");
  add_callback<ReduceLROnPlateauOptions>(all, "ReduceLROnPlateauOptions");
  add_callback<CSVLoggerOptions>(all, "CSVLoggerOptions");
  add_callback<BackupOptions>(all, "BackupOptions");
  add_callback<RemoteMonitorOptions>(all, "RemoteMonitorOptions");
  add_callback<OrbaxCheckpointOptions>(all, "OrbaxCheckpointOptions");
  add_image<image::DecodeJpeg>(all, "DecodeJpeg");
  add_image<image::DecodePng>(all, "DecodePng");
  add_image<image::DecodeImage>(all, "DecodeImage");
  add_image<image::EncodeJpeg>(all, "EncodeJpeg");
  add_image<image::RestartMarkers>(all, "RestartMarkers");
  add_image<image::Resize>(all, "Resize");
  add_image<image::RandomCrop>(all, "RandomCrop");
  add_image<image::RandomResizedCrop>(all, "RandomResizedCrop");
  return all;
}

}  // namespace
}  // namespace stoker

int main() { std::puts(stoker::tables().dump(1).c_str()); }
