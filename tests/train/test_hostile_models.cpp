// Model files and names that were made to hurt.
#include "formats/safetensors.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::OnDevice;
using test::says;

std::string brackets(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(HostileModels, NestingIsBounded) {
  OnDevice device;
  test::TempDir dir;
  for (const char* key : {"architecture", "training"}) {
    SafetensorsFile file;
    Sequential model({Input({2}), Dense(1)});
    model.compile({.loss = "mse"});
    model.save(dir / "m.stoker");
    file = read_safetensors(dir / "m.stoker");
    file.metadata[key] = "{\"kind\":" + brackets(80'000) + "}";
    write_safetensors(dir / "m.stoker", file);
    std::string text = error_of<FileError>([&] { load_model(dir / "m.stoker"); });
    EXPECT_TRUE(says(text, {"m.stoker: ", "nested more than"})) << text;
  }
}

TEST(HostileModels, ANameThatIsNotUtf8IsAClearError) {
  OnDevice device;
  test::TempDir dir;
  Sequential model({Input({2}), Dense(1, {.name = "caf\xe9"})});
  std::string text = error_of<Error>([&] { model.save(dir / "m.stoker"); });
  EXPECT_TRUE(says(text, {"caf\\xe9", "UTF-8"})) << text;
}

TEST(HostileModels, ASummaryHoldsNothingThatATerminalObeys) {
  OnDevice device;
  Sequential model({Input({2}), Dense(1, {.name = "a\x1b[2Jb"})});
  EXPECT_EQ(model.summary().find('\x1b'), std::string::npos);
  EXPECT_TRUE(says(model.summary(), {"a\\x1b[2Jb"}));
}

}  // namespace
}  // namespace stoker
