// Writes small good inputs for the fuzz targets, one folder a target, with Stoker's own writers.
//      fuzz_seeds FOLDER
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <stoker/error.h>

#include "formats/checkpoint_manifest.h"
#include "formats/json.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "formats/shards.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "formats/zip.h"
#include "support/deflate.h"
#include "support/temp_dir.h"

namespace {

using namespace stoker;
using test::TempDir;

class Seeds {
 public:
  explicit Seeds(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories(folder_ / target);
    std::ofstream file(folder_ / target / name, std::ios::binary);
    file.write(bytes.data(), std::streamsize(bytes.size()));
    if (!file.flush()) throw FileError((folder_ / target / name).string() + ": writing failed");
  }

 private:
  std::filesystem::path folder_;
};

std::string example() {
  ExampleWriter writer;
  writer.add("label", std::vector<int64_t>{7, -1});
  writer.add("image", std::vector<std::string_view>{"\xff\xd8", "text"});
  writer.add("box", std::vector<float>{0.5F, 1});
  return writer.record();
}

std::string records() {
  TempDir dir;
  auto file = local_files().create(dir / "a", FileSystem::Write::replace);
  TFRecordWriter writer(*file);
  for (const std::string& record : {example(), std::string(), std::string("third")})
    writer.write(as_bytes(record));
  writer.flush();
  return read_text(dir / "a");
}

void add_idx(Seeds& seeds) {
  std::string bytes("\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\3abcdefghijkl", 28);
  seeds.add("idx", "uint8", bytes);
  seeds.add("idx", "float", std::string("\0\0\x0d\1\0\0\0\2\x3f\x80\0\0\x40\0\0\0", 16));
  seeds.add("idx", "gzip", test::gzip(bytes));
}

void add_wav(Seeds& seeds) {
  const std::string head("RIFF\x2c\0\0\0WAVE", 12);
  const std::string samples("data\x08\0\0\0abcdefgh", 16);
  seeds.add(
      "wav", "pcm16",
      head + std::string("fmt \x10\0\0\0\1\0\2\0\x40\x1f\0\0\0\x7d\0\0\4\0\x10\0", 24) + samples);
  seeds.add(
      "wav", "float",
      head + std::string("fmt \x10\0\0\0\3\0\1\0\x40\x1f\0\0\0\x7d\0\0\4\0\x20\0", 24) + samples);
}

void add_gzip(Seeds& seeds) {
  std::string text = "a text, a text, a text with some letters; " + std::string(300, 'x');
  seeds.add("gzip", "gzip", '\0' + test::gzip(text));
  seeds.add("gzip", "members", '\0' + test::gzip(text) + test::gzip("more"));
  seeds.add("gzip", "zlib", '\1' + test::zlib(text));
}

void add_safetensors(Seeds& seeds) {
  TempDir dir;
  SafetensorsFile three{.tensors = {{"kernel", Tensor::from({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2})},
                                    {"mask", Tensor::full({3}, 1, DType::bool_)},
                                    {"step", Tensor::full({}, 5, DType::int64)}},
                        .metadata = {{"format", "pt"}}};
  write_safetensors(dir / "a", three);
  seeds.add("safetensors", "three", read_text(dir / "a"));
  three.checksums = true;
  write_safetensors(dir / "a", three);
  seeds.add("safetensors", "checked", read_text(dir / "a"));
  write_safetensors(dir / "a", {});
  seeds.add("safetensors", "none", read_text(dir / "a"));
}

void add_tfrecord(Seeds& seeds) {
  seeds.add("tfrecord", "plain", '\x40' + records());
  seeds.add("tfrecord", "repaired", '\1' + records());
  seeds.add("tfrecord", "unchecked", '\3' + records());
  seeds.add("tfrecord", "gzip", '\0' + test::gzip(records()));
  seeds.add("tfrecord", "zlib", '\0' + test::zlib(records()));
  seeds.add("tf_example", "three", example());
}

// `choices` and `spec` as fuzz_shards.cpp reads them.
void add_shards(Seeds& seeds, const std::string& name, const std::string& spec,
                const std::vector<TensorSpec>& specs, const std::vector<Tensor>& element) {
  TempDir dir;
  std::vector<ConstTensorView> views(element.begin(), element.end());
  ShardWriter writer(dir / "a", specs, {.fingerprint = "f"});
  for (int64_t index : {1, 0, 2}) writer.write(index, views);
  writer.finish();
  std::string shard = read_text(dir / "a/data-0000-00000.shard");
  for (char choices : {0, 1, 3, 4, 7})
    seeds.add("shards", name + std::to_string(int(choices)), choices + spec + shard);
  std::string manifest = read_text(dir / "a/manifest.json");
  seeds.add("shard_manifest", name, manifest.substr(0, manifest.rfind(",\"crc32c\"")));
}

void add_checkpoint_manifest(Seeds& seeds) {
  CheckpointManifest manifest{.epoch = 3, .step = 120, .monitored = 0.25};
  manifest.files = {{"training.json", 812, 0x1234abcd}, {"weights.safetensors", 5'000'000'000, 1}};
  std::string text = make_checkpoint_manifest(manifest);
  seeds.add("checkpoint_manifest", "two", text.substr(0, text.rfind(",\"crc32c\"")));
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// At the bound of nesting, one beyond it, and where a stack would end.
void add_nesting(Seeds& seeds) {
  for (int depth : {kMaxJsonDepth, kMaxJsonDepth + 1, 7'000}) {
    std::string name = "nested" + std::to_string(depth);
    std::string lists = repeated("[", depth) + repeated("]", depth);
    seeds.add("json", name, lists);
    seeds.add("json", name + "_objects", repeated("{\"a\":", depth) + "1" + repeated("}", depth));
    seeds.add("json", name + "_comment", "/* \" */" + lists);
    for (const char* manifest : {"shard_manifest", "checkpoint_manifest"})
      seeds.add(manifest, name, "{\"a\":" + lists);
    seeds.add("toml", name, "a = " + lists);
    seeds.add("toml", name + "_dots", repeated("a.", depth) + "a = 1");
    seeds.add("toml", name + "_table", "[" + repeated("a.", depth) + "a]\nb = {c.d = [1]}");
  }
  seeds.add("json", "small", R"({"a": [1, -2.5e3, "\u00e9\n", null, true]})");
  seeds.add("toml", "job", "data = \"idx:mnist\" # comment\nepochs = 3\n[t]\nx = \"\"\"\n.\"\"\"");
}

void add_csv(Seeds& seeds) {
  std::string text = "name,x\n\"a, \"\"b\"\"\nc\",-1.5e3\n\n# note\nlast \" quote,16777217\r\n";
  for (char choice : {0, 4, 8, 12, 3, 16}) {
    std::string name = std::to_string(int(choice));
    seeds.add("csv", "plain" + name, std::string("\x40") + choice + text);
    seeds.add("csv", "bytewise" + name, std::string(1, '\0') + choice + text);
  }
  seeds.add("csv", "gzip", std::string("\x40\0", 2) + test::gzip(text));
}

void add_svmlight(Seeds& seeds) {
  seeds.add("svmlight", "rows", "+1 1:0.5 3:-2e1 # note\n# only a note\n\n-1 qid:7 2:1\n0\n");
  seeds.add("svmlight", "damaged", "1 3:1 2:1\n1,2 1:1\nx 1:1\n1 1:\n1 -1:2\n2.5 99999999999:1\n");
}

std::string npy_of(const Tensor& tensor) {
  std::string bytes = npy_header(tensor);
  if (tensor.dtype() == DType::bytes) return bytes + npy_texts(tensor);
  return bytes + std::string(static_cast<const char*>(tensor.raw()), tensor.bytes());
}

std::string npy_text(const std::string& header, const std::string& values) {
  return std::string("\x93NUMPY\2\0", 8) + char(header.size()) + std::string(3, '\0') + header +
         values;
}

void add_numpy(Seeds& seeds) {
  std::string floats = npy_of(Tensor::from({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2}));
  std::string texts = npy_of(Tensor::from<std::string>({"one", "two"}, {2}));
  seeds.add("npy", "float", floats);
  seeds.add("npy", "texts", texts);
  seeds.add("npy", "scalar", npy_of(Tensor::full({}, 5, DType::int64)));
  std::string form = "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 1L), }";
  seeds.add("npy", "fortran", npy_text(form, std::string(16, '\x40')));
  std::string wide = "{\"shape\": (1,), 'descr': '<U2', 'fortran_order': False}";
  seeds.add("npy", "utf32", npy_text(wide, std::string("a\0\0\0\xe4\0\0\0", 8)));
  for (bool deflate : {false, true}) {
    ZipWriter zip;
    zip.add("x.npy", {as_bytes(floats)}, deflate);
    zip.add("names.npy", {as_bytes(texts)}, deflate);
    std::string bytes;
    for (std::span<const std::byte> piece : zip.finish())
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    seeds.add("npz", deflate ? "deflated" : "stored", bytes);
  }
}

void add_all(Seeds& seeds) {
  add_csv(seeds);
  add_svmlight(seeds);
  add_numpy(seeds);
  add_nesting(seeds);
  add_checkpoint_manifest(seeds);
  add_idx(seeds);
  add_wav(seeds);
  add_gzip(seeds);
  add_safetensors(seeds);
  add_tfrecord(seeds);
  auto code = [](DType dtype) { return char(dtype); };
  add_shards(seeds, "fixed", {2, code(DType::uint8), 2, 11, 8, code(DType::int64), 0},
             {{DType::uint8, {10, 7}}, {DType::int64, {}}},
             {Tensor::full({10, 7}, 3, DType::uint8), Tensor::full({}, 1, DType::int64)});
  add_shards(seeds, "variable",
             {3, code(DType::float32), 2, 0, 3, code(DType::bytes), 1, 0, code(DType::bool_), 1, 4},
             {{DType::float32, {-1, 2}}, {DType::bytes, {-1}}, {DType::bool_, {3}}},
             {Tensor::full({9, 2}, 0.5), Tensor::from<std::string>({"one", "", "three"}, {3}),
              Tensor::full({3}, 1, DType::bool_)});
  add_shards(seeds, "small", {1, code(DType::int32), 1, 3}, {{DType::int32, {2}}},
             {Tensor::full({2}, 1, DType::int32)});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  try {
    Seeds seeds(argv[1]);
    add_all(seeds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz_seeds: %s\n", error.what());
    return 1;
  }
  return 0;
}
