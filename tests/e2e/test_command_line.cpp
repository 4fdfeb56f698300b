#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "engine/registry.h"
#include "support/program.h"
#include "support/tiny_data.h"

namespace stoker {
namespace {

using nlohmann::json;
using test::contains;
using test::Ended;
using test::run_stoker;
using test::TempDir;

int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(CommandLine, HelpNamesEveryCommandAndExitsWithZero) {
  Ended help = run_stoker("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* command :
       {"demo", "train", "evaluate", "predict", "compare", "compress", "prepare", "inspect",
        "export", "verify-resume", "doctor", "monitor", "bench"}) {
    EXPECT_TRUE(contains(help.out, std::string("\n  ") + command + " ")) << command;
    Ended own = run_stoker(std::string(command) + " --help");
    EXPECT_EQ(own.status, 0) << command;
    EXPECT_TRUE(contains(own.out, "Examples:")) << own.out;
    EXPECT_TRUE(contains(own.out, "--json")) << own.out;
    for (size_t begin = 0; begin < own.out.size();) {
      size_t end = own.out.find('\n', begin);
      EXPECT_LE(end - begin, 110) << own.out.substr(begin, end - begin);
      begin = end + 1;
    }
  }
  EXPECT_EQ(run_stoker("--version").status, 0);
}

TEST(CommandLine, WrongUseIsTwoAndOneClearLine) {
  for (const char* wrong : {"", "trian", "train --epoch", "train --unknown 3", "predict",
                            "evaluate", "demo --epochs 0"}) {
    Ended ended = run_stoker(wrong);
    EXPECT_EQ(ended.status, 2) << wrong << ": " << ended.err;
    EXPECT_EQ(ended.out, "") << wrong;
    EXPECT_LE(lines_of(ended.err), 2) << ended.err;
  }
}

TEST(CommandLine, AWrongValueIsTwoAndOneClearLine) {
  for (const auto& [arguments, part] : std::vector<std::pair<std::string, std::string>>{
           {"train", "no data"},
           {"train --data parquet:x", "unknown kind \"parquet\""},
           {"train --epochs three --data x", "epochs: expected a whole number, got \"three\""},
           {"train --epochs 0 --data x", "epochs: expected 1 or more, got 0"},
           {"train --schedule step --data x", "schedule: expected cosine or constant"},
           {"train --precision float8 --data x", "float8"},
           {"inspect resnet", "unknown model \"resnet\"; there are mlp"},
           {"bench cnn --model mlp", "model: given twice"},
           {"bench cnn --devices cpu:2", "stoker bench scaling"},
           {"doctor", "no data"}}) {
    Ended ended = run_stoker(arguments);
    EXPECT_EQ(ended.status, 2) << arguments;
    EXPECT_TRUE(ended.err.starts_with("stoker: ")) << ended.err;
    EXPECT_TRUE(contains(ended.err, part)) << arguments << ": " << ended.err;
    EXPECT_EQ(lines_of(ended.err), 1) << ended.err;
  }
}

TEST(CommandLine, AFailureIsOneAndOneClearLine) {
  TempDir folder;
  std::string job = folder.write("job.toml", "epoch = 3\n");
  for (const auto& [arguments, part] : std::vector<std::pair<std::string, std::string>>{
           {"train --data idx:/nowhere", "/nowhere: there is no such folder"},
           {"train --job " + job, "unknown key \"epoch\"; there are data"},
           {"train --job none.toml", "none.toml"},
           {"evaluate nowhere", "there is no such model"},
           {"monitor /nowhere", "/nowhere: there is no such folder; give the --out"},
           {"bench cnn --device tpu", "tpu"},
           {"bench cnn --device cuda:999", "\"cuda:999\""}}) {
    Ended ended = run_stoker(arguments);
    EXPECT_EQ(ended.status, 1) << arguments;
    EXPECT_TRUE(ended.err.starts_with("stoker: ")) << ended.err;
    EXPECT_TRUE(contains(ended.err, part)) << arguments << ": " << ended.err;
    EXPECT_EQ(lines_of(ended.err), 1) << ended.err;
  }
}

TEST(CommandLine, AGpuThatIsAskedForAndCannotBeUsedIsAnError) {
  std::string why;
  if (is_usable("cuda", &why)) GTEST_SKIP() << "there is one";
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  std::string data = "data = \"idx:" + folder / "digits" + "\"\n";
  std::string job = folder.write("job.toml", data + "device = \"cuda\"\n");
  for (const std::string& arguments :
       {"train --device cuda --data idx:" + folder / "digits", "train --job " + job,
        "doctor --job " + job, std::string("bench mlp --device cuda"),
        std::string("inspect mlp --device cuda")}) {
    Ended ended = run_stoker(arguments);
    EXPECT_EQ(ended.status, 1) << arguments;
    EXPECT_EQ(ended.err, "stoker: " + why + "\n") << arguments;
  }
  std::string run = folder / "run";
  Ended trained =
      run_stoker("train --epochs 1 --model mlp --device auto --job " + job + " --out " + run);
  EXPECT_EQ(trained.status, 0) << trained.err;
  // What was trained on a GPU can be used without one.
  json kept = json::parse(read_text(run + "/job.json"));
  kept["device"] = "cuda";
  folder.write("run/job.json", kept.dump());
  EXPECT_EQ(run_stoker("evaluate " + run).status, 0);
}

TEST(CommandLine, TrainsEvaluatesAndPredicts) {
  TempDir folder;
  test::write_image_folder(folder, "photos", {.count = 60, .side = 20});
  std::string out = folder / "run", data = folder / "photos";
  std::string train = "train --data " + data +
                      " --model mlp --image-size 16 --epochs 6 --batch 8 --seed 1 --out " + out +
                      " --json " + out + "/figures.json";
  Ended ended = run_stoker(train);
  ASSERT_EQ(ended.status, 0) << ended.err;
  json figures = json::parse(read_text(out + "/figures.json"));
  for (const char* key : {"val_accuracy", "val_loss", "samples_per_second", "ms_per_step",
                          "peak_memory_bytes", "predicted_memory_bytes", "final_weights_sha256"})
    EXPECT_TRUE(figures.contains(key)) << key;
  EXPECT_EQ(json::parse(read_text(out + "/result.json")), figures);

  Ended evaluated = run_stoker("evaluate " + out + " --json -");
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  json evaluation = json::parse(evaluated.out);  // nothing but JSON
  EXPECT_EQ(evaluation["accuracy"], figures["val_accuracy"]);

  Ended predicted = run_stoker("predict " + out + " " + data + "/class_2 --top 2 --json -");
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  json rows = json::parse(predicted.out);
  ASSERT_EQ(rows.size(), 15);
  EXPECT_EQ(rows[0]["class"], "class_2");
  EXPECT_EQ(rows[0]["top"].size(), 2);
}

TEST(CommandLine, GoesOnWithWhatWasStopped) {
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  std::string job =
      " --data idx:" + folder / "digits" + " --model mlp --epochs 3 --batch 8 --seed 1";
  Ended proof = run_stoker("verify-resume --stop-after 7 --json - --out " + folder / "proof" + job);
  ASSERT_EQ(proof.status, 0) << proof.err;
  EXPECT_TRUE(json::parse(proof.out)["same"].get<bool>());

  std::string train = "train --json - --out " + folder / "run" + job;
  json first = json::parse(run_stoker(train).out);
  EXPECT_EQ(first["final_weights_sha256"], json::parse(proof.out)["undisturbed_sha256"]);
  json again = json::parse(run_stoker(train + " --resume auto").out);
  EXPECT_EQ(again["steps"], 0);  // nothing was left to do
  EXPECT_EQ(again["final_weights_sha256"], first["final_weights_sha256"]);
  EXPECT_EQ(again["history"], first["history"]);
  EXPECT_TRUE(read_text(folder / "run/history.csv").starts_with("epoch,"));
}

TEST(CommandLine, ExportsForOthers) {
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  ASSERT_EQ(run_stoker("train --model lenet --image-size 16 --epochs 1 --data idx:" +
                       folder / "digits" + " --out " + folder / "run")
                .status,
            0);
  for (const char* name : {"model.onnx", "weights.safetensors", "small.stoker"}) {
    Ended exported = run_stoker("export " + folder / "run" + " " + folder / name);
    EXPECT_EQ(exported.status, 0) << exported.err;
    EXPECT_GT(local_files().size(folder / name), 1000);
  }
  Ended wrong = run_stoker("export " + folder / "run" + " " + folder / "model.pb");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_TRUE(contains(wrong.err, ".onnx, .safetensors or .stoker")) << wrong.err;
}

TEST(CommandLine, PreparesShardsToTrainFrom) {
  TempDir folder;
  test::write_image_folder(folder, "photos", {.count = 60, .side = 20});
  std::string shards = folder / "shards";
  Ended prepared =
      run_stoker("prepare --data " + folder / "photos" + " --image-size 16 --out " + shards);
  ASSERT_EQ(prepared.status, 0) << prepared.err;
  Ended trained =
      run_stoker("train --data shards:" + shards + " --model mlp --epochs 6 --batch 8 --json -");
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_GT(json::parse(trained.out)["val_accuracy"].get<double>(), 0.9);
}

TEST(CommandLine, InspectsAndTimes) {
  Ended inspected = run_stoker("inspect cnn --batch 16 --json -");
  ASSERT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_EQ(json::parse(inspected.out)["model"]["parameters"], 106506);
  EXPECT_TRUE(contains(inspected.err, "Memory of a training step at batch 16"));
  Ended timed = run_stoker("bench lenet --batch 8 --steps 3 --json -");
  ASSERT_EQ(timed.status, 0) << timed.err;
  EXPECT_GT(json::parse(timed.out)["ms_per_step"].get<double>(), 0);
  Ended named = run_stoker("bench --model mlp --batch 8 --steps 1");
  EXPECT_TRUE(contains(named.out, "mlp on ")) << named.out << named.err;
}

TEST(CommandLine, TheDemoRunsAndBothFormsAgree) {
  TempDir folder;
  Ended demo = run_stoker("demo --quick --out " + folder / "demo" + " --json " + folder / "j.json");
  ASSERT_EQ(demo.status, 0) << demo.err << demo.out;
  EXPECT_TRUE(contains(demo.out, "What the slow form lost"));
  EXPECT_TRUE(json::parse(read_text(folder / "j.json"))["same_weights"].get<bool>());
  EXPECT_TRUE(contains(demo.out, "too few steps"));  // for the doctor
}

}  // namespace
}  // namespace stoker
