// Our own Huffman decoder against libjpeg's: what it takes it must read alike, bit for bit, and
// what is irregular it must leave to libjpeg.
#include <gtest/gtest.h>
#include <stoker/image.h>

#include "data/image/readers.h"
#include "data/image/workspace.h"
#include "image/pictures.h"

namespace stoker::test {
namespace {

using namespace image;
using Entropy = JpegReader::Entropy;

// A picture, or the text of the error.
struct Outcome {
  Tensor picture;
  std::string error;
};

JpegReader& reader() { return Workspace::of_thread().plan.readers().jpeg; }

Outcome decode(const Op& op, const Tensor& jpeg, Entropy entropy, uint64_t seed = 0) {
  reader().set_entropy(entropy);
  Outcome outcome;
  Rng rng(seed);
  try {
    outcome.picture = op(jpeg, rng);
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  reader().set_entropy(Entropy::own);
  return outcome;
}

bool used_own() { return reader().used_own_entropy(); }

TEST(JpegEntropy, ReadsEveryBaselineFormAsLibjpegDoes) {
  for (int quality : {5, 50, 90, 100})
    for (auto [h, v] : {std::pair(1, 1), {2, 1}, {2, 2}, {4, 1}, {1, 2}})
      for (int64_t channels : {1, 3, 4})
        for (int restart : {0, 1, 3, 5}) {
          Tensor jpeg =
              bytes_tensor(make_jpeg(make_picture(75, 118, channels, uint64_t(quality)),
                                     {.quality = quality, .h = h, .v = v, .restart = restart}));
          for (const Op& op : {decode_jpeg(), decode_jpeg() | random_resized_crop(20),
                               decode_jpeg({.channels = 1}) | random_crop(33, 21),
                               decode_jpeg({.scaled = true}) | resize(9, 9, {.antialias = true})})
            for (uint64_t seed = 0; seed < 3; ++seed) {
              Outcome own = decode(op, jpeg, Entropy::own, seed);
              ASSERT_TRUE(used_own()) << quality << " " << h << "x" << v << " " << restart;
              Outcome stock = decode(op, jpeg, Entropy::libjpeg, seed);
              ASSERT_FALSE(used_own());
              ASSERT_EQ(own.error, "");
              ASSERT_TRUE(own.picture == stock.picture)
                  << op.name() << ", quality " << quality << ", " << h << "x" << v << ", "
                  << channels << " channels, restart " << restart;
            }
        }
}

TEST(JpegEntropy, LeavesProgressiveFilesToLibjpeg) {
  Tensor jpeg = bytes_tensor(make_jpeg(make_picture(30, 30, 3), {.progressive = true}));
  EXPECT_EQ(decode(decode_jpeg(), jpeg, Entropy::own).error, "");
  EXPECT_FALSE(used_own());
}

TEST(JpegEntropy, LeavesCutFilesToLibjpeg) {
  std::string whole = make_jpeg(make_picture(40, 40, 3), {.h = 2, .v = 2});
  for (size_t size = whole.size() - 400; size + 2 < whole.size(); ++size) {
    Tensor cut = bytes_tensor(whole.substr(0, size));
    EXPECT_EQ(decode(decode_jpeg(), cut, Entropy::own).error,
              decode(decode_jpeg(), cut, Entropy::libjpeg).error)
        << size;
  }
}

TEST(JpegEntropy, AgreesWithLibjpegOnDamagedFiles) {
  Rng rng(11);
  int pictures = 0, errors = 0;
  for (int restart : {0, 2})
    for (int64_t channels : {1, 3}) {
      std::string file =
          make_jpeg(make_picture(48, 56, channels),
                    {.h = channels == 3 ? 2 : 1, .v = channels == 3 ? 2 : 1, .restart = restart});
      size_t scan = file.find("\xff\xda");
      for (int trial = 0; trial < 4000; ++trial) {
        std::string damaged = file;
        for (int64_t flips = rng.integer(1, 4); flips > 0; --flips) {
          // Mostly in the coded data, sometimes in the tables.
          int64_t from = rng.uniform() < 0.8F ? int64_t(scan) : 2;
          damaged[size_t(rng.integer(from, int64_t(file.size())))] ^= char(1 << rng.integer(0, 8));
        }
        Op op = decode_jpeg({.max_pixels = 1 << 20});
        Tensor jpeg = bytes_tensor(damaged);
        Outcome own = decode(op, jpeg, Entropy::own), stock = decode(op, jpeg, Entropy::libjpeg);
        ASSERT_EQ(own.error, stock.error) << "trial " << trial;
        ASSERT_TRUE(!own.error.empty() || own.picture == stock.picture) << "trial " << trial;
        own.error.empty() ? ++pictures : ++errors;
      }
    }
  EXPECT_GT(pictures, 100);  // damage that both read
  EXPECT_GT(errors, 100);
}

}  // namespace
}  // namespace stoker::test
