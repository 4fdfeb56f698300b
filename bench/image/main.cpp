// Decoding and augmenting photographs on one core, beside torchvision:
//   bench_image [--photos FOLDER] [--python PYTHON] [common options]
// Without a folder the photographs are made up. PYTHON needs torchvision (default: that of
// scripts/peers-setup.sh); without it there is no peer, and the ratios are not judged.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>
#include <stoker/image.h>

#include "common/options.h"
#include "common/photos.h"
#include "common/report.h"
#include "common/timing.h"
#include "data/image/run_op.h"
#include "image/worker.h"

namespace stoker::bench {
namespace {

using namespace image;

constexpr int64_t kSize = 224;
constexpr int64_t kRowBytes = kSize * kSize * 3;

std::string default_python() {
  if (const char* venv = std::getenv("STOKER_PEERS_VENV")) return std::string(venv) + "/bin/python";
  const char* home = std::getenv("HOME");
  return (home == nullptr ? std::string() : std::string(home)) + "/.cache/stoker/peers/bin/python";
}

struct Arguments : Options {
  std::string photos, python = default_python();
  std::vector<Flag> flags() {
    return with(Options::flags(), {{"--photos", &photos}, {"--python", &python}});
  }
};

// A place for results that is always the same, as a row of a batch would be.
class Place : public Target {
 public:
  void* put(DType dtype, const Shape& shape) override {
    size_t bytes = size_t(shape.elements()) * size_of(dtype);
    if (memory_.size() < bytes) memory_.resize(bytes);
    return memory_.data();
  }

 private:
  std::vector<uint8_t> memory_;
};

// One pass of an operation over all inputs; every pass draws other crops.
class OnePass {
 public:
  OnePass(Op op, const std::vector<Tensor>& inputs) : op_(std::move(op)), inputs_(&inputs) {}
  void operator()() {
    ++pass_;
    for (size_t i = 0; i < inputs_->size(); ++i) {
      Rng rng(pass_, i);
      run(op_, (*inputs_)[i], &rng, place_);
    }
  }

 private:
  Op op_;
  const std::vector<Tensor>* inputs_;
  Place place_;
  uint64_t pass_ = 0;
};

std::string torchvision_script() { return STOKER_BENCH_SOURCE_DIR "/image/torchvision_worker.py"; }

// Crops whose boxes PIL is told, so that it can do the same.
void write_records(const std::vector<Tensor>& photos, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  for (size_t i = 0; i < photos.size(); ++i) {
    Tensor whole = decode_jpeg()(photos[i]);
    Rng rng(99, i);
    int64_t height = rng.integer(1, whole.shape()[0] + 1),
            width = rng.integer(1, whole.shape()[1] + 1);
    int64_t y = rng.integer(0, whole.shape()[0] - height + 1);
    int64_t x = rng.integer(0, whole.shape()[1] - width + 1);
    bool flip = rng.uniform() < 0.5F;
    Op op = decode_jpeg() | crop(y, x, height, width) | resize(kSize, kSize, {.antialias = true});
    Tensor result = (flip ? op | flip_left_right() : op)(photos[i]);
    int32_t box[] = {int32_t(i), int32_t(y), int32_t(x), int32_t(height), int32_t(width), flip};
    out.write(reinterpret_cast<const char*>(box), sizeof(box));
    out.write(static_cast<const char*>(result.raw()), kRowBytes);
  }
}

struct Setting {
  std::vector<Tensor> photos;
  std::string folder;
  Worker* worker;
  double seconds;
};

double rate(const Samples& samples, size_t count) { return double(count) / samples.median(); }

void add_rates(const Setting& setting, Report& report) {
  std::vector<Tensor> marked, decoded;
  size_t plain_bytes = 0, marked_bytes = 0;
  for (const Tensor& photo : setting.photos) {
    marked.push_back(add_restart_markers()(photo));
    decoded.push_back(decode_jpeg()(photo));
    plain_bytes += photo.data<std::string>()->size();
    marked_bytes += marked.back().data<std::string>()->size();
  }
  Op augment = random_resized_crop(kSize) | random_flip_left_right();
  auto pass = [](Op op, const std::vector<Tensor>& inputs) {
    return OnePass(std::move(op), inputs);
  };
  std::vector<Contender> contenders = {
      {"decode + random_resized_crop(224) + flip", pass(decode_jpeg() | augment, setting.photos)},
      {"same, files with restart markers", pass(decode_jpeg() | augment, marked)},
      {"same, scaled decoding", pass(decode_jpeg({.scaled = true}) | augment, setting.photos)},
      {"same, to float32, normalised",
       pass(decode_jpeg() | augment | convert(DType::float32) |
                normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}),
            setting.photos)},
      {"full decode only", pass(decode_jpeg(), setting.photos)},
      {"header and first rows only", pass(decode_jpeg() | crop(0, 0, 1, 1), setting.photos)},
      {"random_resized_crop(224) + flip of decoded pictures", pass(augment, decoded)},
  };
  if (setting.worker->alive())
    contenders.push_back({"torchvision", [&] { setting.worker->ask("run"); }});
  Turns turns{.warm_up = 1, .block = 1, .seconds = setting.seconds, .least_rounds = 3};
  std::vector<Samples> samples = take_turns(contenders, turns);
  size_t ours = 7, count = setting.photos.size();
  for (size_t i = 0; i < ours; ++i) {
    Row row{.name = contenders[i].name, .value = rate(samples[i], count), .unit = "img/s"};
    row.note = fmt::format("{:.3f} ms each", 1e3 / row.value);
    if (i == 1)
      row.note += fmt::format(", {:.1f} % more bytes",
                              100.0 * double(marked_bytes) / double(plain_bytes) - 100);
    if (setting.worker->alive() && i < 4)
      row.peers = {{"torchvision", rate(samples.back(), count), "img/s"}};
    report.add(row);
  }
  if (!setting.worker->alive()) return;
  const double bars[] = {3.5, 5};
  for (size_t i = 0; i < 2; ++i)
    report.add({.name = contenders[i].name + ", times torchvision",
                .value = paired_ratio(samples.back(), samples[i], turns.block),
                .unit = "×",
                .bar = bars[i]});
}

void add_difference(const Setting& setting, Report& report) {
  std::string records = setting.folder + "/records.bin";
  write_records(setting.photos, records);
  std::istringstream answer(setting.worker->ask("compare " + records));
  double largest = 0, mean = 0;
  if (!(answer >> largest >> mean)) throw Error("torchvision_worker.py did not answer");
  report.add({.name = "largest difference to PIL",
              .value = largest,
              .unit = "grey levels",
              .better = Better::lower,
              .bar = 1,
              .note = fmt::format("{:.3f} on average", mean)});
}

// A folder for the worker, gone at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stoker-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Error("cannot make " + pattern);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int run_all(const Arguments& arguments) {
  Folder folder;
  Setting setting{
      .photos = arguments.photos.empty() ? generate_photos(40) : read_photos(arguments.photos),
      .folder = folder.path(),
      .worker = nullptr,
      .seconds = arguments.longer ? 60.0 : 20.0};
  if (setting.photos.empty()) throw ValueError("no .jpg files in " + arguments.photos);
  write_photos(setting.photos, folder.path());
  Worker worker({arguments.python, torchvision_script(), folder.path()});
  setting.worker = &worker;
  Report report;
  add_rates(setting, report);
  if (worker.alive()) add_difference(setting, report);
  finish(report, arguments);
  std::cout << setting.photos.size() << " photographs, kernels " << kernels().name
            << (worker.alive() ? "" : "; no torchvision at " + arguments.python) << "\n";
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_image", argc, argv, stoker::bench::run_all);
}
