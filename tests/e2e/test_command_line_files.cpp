// The program among links, FIFOs, devices, full disks and hostile files.
#include <sys/stat.h>

#include <gtest/gtest.h>
#include <stoker/model.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/program.h"
#include "support/tiny_data.h"

namespace stoker {
namespace {

using nlohmann::json;
using test::contains;
using test::Ended;
using test::run_stoker;
using test::TempDir;
namespace fs = std::filesystem;

// Lines of bash, with $STOKER for the program and a limit for what would hang.
Ended shell(const TempDir& folder, const std::string& lines) {
  std::string script = "cd '" + folder / "" + "'\nSTOKER='timeout 60 " STOKER_PROGRAM "'\n" + lines;
  return test::run_program("bash", folder.write("script", script));
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

// A folder with a trained model in run/ and its pictures in photos/.
class TrainedRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TempDir>();
    test::write_image_folder(*folder_, "photos", {.count = 16, .side = 12});
    Ended trained = run_stoker("train --model mlp --image-size 12 --epochs 1 --batch 8 --seed 1" +
                               (" --data " + *folder_ / "photos" + " --out " + *folder_ / "run"));
    ASSERT_EQ(trained.status, 0) << trained.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static TempDir& folder() { return *folder_; }
  static std::string photo() { return folder() / "photos/class_0/00.jpg"; }

 private:
  static inline std::unique_ptr<TempDir> folder_;
};

TEST_F(TrainedRun, FiguresGoThroughLinksAndIntoFifosAndOpenFiles) {
  folder().write("target.json", "old");
  Ended ended = shell(folder(),
                      "ln -s target.json link.json\nmkfifo fifo\n"
                      "$STOKER evaluate run --json link.json || exit 9\n"
                      "cat fifo > from_fifo.json & $STOKER evaluate run --json fifo || exit 8\n"
                      "wait\n"
                      "$STOKER evaluate run --json >(cat > from_process.json) || exit 7\n"
                      "$STOKER evaluate run --json /dev/stdout > from_stdout.json || exit 6\n"
                      "$STOKER evaluate run --json /dev/fd/5 5> from_fd.json || exit 5\n"
                      "while [ ! -s from_process.json ]; do :; done\n");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(fs::is_symlink(folder() / "link.json"));
  EXPECT_TRUE(fs::is_fifo(folder() / "fifo"));
  for (const char* name :
       {"target.json", "from_fifo.json", "from_process.json", "from_stdout.json", "from_fd.json"})
    EXPECT_TRUE(json::parse(read_text(folder() / name)).contains("accuracy")) << name;
}

TEST_F(TrainedRun, ADeviceStaysADevice) {
  Ended ended = run_stoker("evaluate " + folder() / "run" + " --json /dev/full");
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.err, "stoker: /dev/full: writing failed: No space left on device\n");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(TrainedRun, LostStandardOutputIsAFailure) {
  for (std::string command :
       {"--help", "inspect", "inspect cnn", "evaluate run", "evaluate run --json -",
        "predict run photos/class_0", "export run out.onnx", "bench mlp --steps 1"}) {
    Ended full = shell(folder(), "$STOKER " + command + " > /dev/full\n");
    EXPECT_EQ(full.status, 1) << command;
    EXPECT_TRUE(contains(full.err, "stoker: standard output: writing failed: No space left"))
        << command << ": " << full.err;
  }
  Ended closed = shell(folder(), "$STOKER evaluate run >&-\n");
  EXPECT_EQ(closed.status, 1);
  EXPECT_TRUE(contains(closed.err, "standard output: writing failed")) << closed.err;
}

TEST_F(TrainedRun, AReaderThatHasSeenEnoughIsNoError) {
  Ended ended = shell(folder(), "$STOKER inspect cnn | head -1\n$STOKER inspect cnn | true\n");
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.err, "");
}

TEST_F(TrainedRun, PredictGoesOnAfterABadFileAndNamesIt) {
  fs::create_directories(folder() / "mixed");
  fs::copy_file(photo(), folder() / "mixed/a.jpg", fs::copy_options::skip_existing);
  fs::copy_file(photo(), folder() / "mixed/c.jpg", fs::copy_options::skip_existing);
  folder().write("mixed/b.jpg", "no JPEG");
  mkfifo((folder() / "mixed/d.jpg").c_str(), 0600);
  Ended ended = shell(folder(), "$STOKER predict run mixed --json -\n");
  EXPECT_EQ(ended.status, 3) << ended.err;
  json rows = json::parse(ended.out);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_TRUE(rows[0].contains("class") && rows[2].contains("class")) << ended.out;
  EXPECT_TRUE(rows[1].contains("error") && rows[3].contains("error")) << ended.out;
  EXPECT_TRUE(contains(ended.err, "stoker: mixed/b.jpg: ")) << ended.err;
  EXPECT_TRUE(contains(ended.err, "stoker: mixed/d.jpg: it is a FIFO")) << ended.err;

  Ended one = shell(folder(), "$STOKER predict run mixed/b.jpg\n");
  EXPECT_EQ(one.status, 1);
  EXPECT_TRUE(contains(one.err, "stoker: mixed/b.jpg: ")) << one.err;
}

TEST_F(TrainedRun, AFifoAmongTheDataIsAnErrorAtOnce) {
  shell(folder(),
        "cp -r photos fifos\nmkfifo fifos/class_1/zz.jpg\nmkdir idx\n"
        "mkfifo idx/train-images-idx3-ubyte idx/train-labels-idx1-ubyte\n"
        "mkfifo records.tfrecord model.stoker job.json\n");
  for (const std::string& arguments : std::vector<std::string>{
           "train --data fifos --model mlp --image-size 12", "train --data idx:idx --model mlp",
           "train --data tfrecord:records.tfrecord --model mlp --image-size 12 --classes 2",
           "evaluate model.stoker", "train --job job.json"}) {
    Ended ended = shell(folder(), "$STOKER " + arguments + "\n");
    EXPECT_EQ(ended.status, 1) << arguments << ": " << ended.err;
    EXPECT_TRUE(contains(ended.err, "it is a FIFO, expected a regular file")) << ended.err;
  }
  shell(folder(), "rm -r idx records.tfrecord model.stoker job.json fifos\n");
}

TEST(CommandLineFiles, DeepNestingIsAnError) {
  TempDir folder;
  folder.write("job.json", R"({"data": )" + nested(100'000) + "}");
  folder.write("dots.toml", std::string(20'000, 'a') + " = 1\n");
  std::string dots = "a";
  for (int i = 0; i < 20'000; ++i) dots += ".a";
  folder.write("dots.toml", dots + " = 1\n");
  folder.write("tables.toml", "[" + dots + "]\nb = 1\n");
  folder.write("arrays.toml", "data = " + nested(20'000) + "\n");
  folder.write("run/status.json", nested(100'000));
  folder.write("run/job.json", nested(100'000));
  for (const std::string& arguments : std::vector<std::string>{
           "train --job job.json", "train --job dots.toml", "train --job tables.toml",
           "train --job arrays.toml", "monitor run --once", "evaluate run",
           "train --data x --epochs '" + nested(5'000) + "'"}) {
    Ended ended = shell(folder, "$STOKER " + arguments + "\n");
    EXPECT_EQ(ended.status, contains(arguments, "--epochs") ? 2 : 1)
        << arguments.substr(0, 40) << ended.err.substr(0, 300);
    EXPECT_TRUE(ended.err.starts_with("stoker: ")) << ended.err.substr(0, 300);
  }
}

TEST(CommandLineFiles, NamesThatAreNotUtf8OrForATerminalAreHarmless) {
  TempDir folder;
  test::write_image_folder(folder, "photos", {.count = 16, .side = 12});
  fs::rename(folder / "photos/class_0", folder / "photos/caf\xe9");
  fs::rename(folder / "photos/class_1", folder / "photos/\x1b[31mred");
  Ended trained =
      shell(folder,
            "$STOKER train --data photos --model mlp --image-size 12 --epochs 1 "
            "--batch 8 --out run || exit 9\n"
            "cp \"$(ls -d photos/class_2/* | head -1)\" $'ph\\x1b[2Jto.jpg'\n"
            "$STOKER predict run *.jpg --top 4 || exit 8\n"
            "$STOKER predict run $'no\\x1b[2J\\xff.jpg'; $STOKER inspect --data photos\n");
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_FALSE(contains(trained.out + trained.err, "\x1b")) << trained.out;
  EXPECT_TRUE(contains(trained.out, "caf\\xe9")) << trained.out;
  EXPECT_TRUE(contains(trained.err, "no\\x1b[2J\\xff.jpg: there is no such file")) << trained.err;

  Ended refused = shell(folder,
                        "mv photos $'ph\\xe9tos'; $STOKER train --data $'ph\\xe9tos' --model mlp "
                        "--image-size 12 --epochs 1 --out run\n");
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(contains(refused.err, "data: \"ph\\xe9tos\" is not UTF-8")) << refused.err;
}

TEST(CommandLineFiles, ShardsAreReadWithoutMappingOnDemand) {
  TempDir folder;
  test::write_image_folder(folder, "photos", {.count = 16, .side = 12});
  Ended ended = shell(folder,
                      "$STOKER prepare --data photos --image-size 12 --out shards || exit 9\n"
                      "T='train --data shards:shards --model mlp --epochs 1 --batch 8 --seed 1'\n"
                      "$STOKER $T --json mapped.json && $STOKER $T --unmapped --json read.json\n");
  ASSERT_EQ(ended.status, 0) << ended.err;
  json mapped = json::parse(read_text(folder / "mapped.json")),
       read = json::parse(read_text(folder / "read.json"));
  EXPECT_EQ(mapped["final_weights_sha256"], read["final_weights_sha256"]);
  EXPECT_EQ(read["job"]["unmapped"], true);
}

constexpr const char* kTrain =
    "$STOKER train --data idx:digits --model mlp --epochs 3 --batch 8 --seed 1 --out ";

TEST(CommandLineFiles, AFullDiskDoesNotCostTheModel) {
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  fs::create_directories(folder / "run");
  for (const char* name : {"model.stoker", "history.csv", "result.json", "status.json"})
    fs::create_symlink("/dev/full", folder / "run" + "/" + name);
  Ended ended = shell(folder, std::string(kTrain) + "run --json result.json\n");
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(contains(ended.out, "CSVLogger: ")) << ended.out;
  json result = json::parse(read_text(folder / "result.json"));
  std::string model = result["model"];
  EXPECT_TRUE(contains(ended.err, "No space left on device; the model is in " + model))
      << ended.err;
  EXPECT_TRUE(contains(ended.err, "result.json: writing failed")) << ended.err;
  EXPECT_NO_THROW(load_model(model));
  fs::remove(model);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// A real file system of a megabyte that fills up, in a namespace of its own.
TEST(CommandLineFiles, ADiskThatFillsUpUnderARunDoesNotCostTheModel) {
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  fs::create_directories(folder / "disk");
  if (shell(folder, "unshare -rm mount -t tmpfs none disk\n").status != 0)
    GTEST_SKIP() << "this machine does not let users mount file systems";
  // Room for one checkpoint, which is as large as the model, and not for both.
  std::string inside =
      R"(
mount -t tmpfs -o size=16m none disk && mkdir disk/run && ln -s disk/run run || exit 9
head -c $((16 * 1024 * 1024 - 60000 - $(stat -c %s whole/model.stoker) * 3 / 2)) /dev/zero > disk/other
)" + std::string(kTrain) +
      "run --json result.json\nstatus=$?\nls run/checkpoints > kept.txt\nexit $status\n";
  folder.write("inside", "STOKER='" STOKER_PROGRAM "'\n" + inside);
  Ended ended = shell(
      folder, kTrain + std::string("whole > /dev/null || exit 8\n") + "unshare -rm bash inside\n");
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_TRUE(contains(ended.err, "No space left on device; the model is in ")) << ended.err;
  json result = json::parse(read_text(folder / "result.json"));
  EXPECT_EQ(result["epochs"], 3);
  EXPECT_NO_THROW(load_model(result["model"].get<std::string>()));
  EXPECT_FALSE(read_text(folder / "kept.txt").empty());
}

TEST(CommandLineFiles, ALimitOfFileSizesIsAnErrorNotTheEnd) {
  TempDir folder;
  test::write_idx_folder(folder, "digits");
  Ended ended = shell(folder, "ulimit -f 4\n" + std::string(kTrain) + "run\n");
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(contains(ended.out, "Epoch 3/3")) << ended.out << ended.err;
  EXPECT_TRUE(contains(ended.err, "File too large")) << ended.err;
}

}  // namespace
}  // namespace stoker
