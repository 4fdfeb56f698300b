// The rows of one of several ranks: together they are the batches of one process.
#include <atomic>

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <stoker/mixing.h>
#include <stoker/text.h>

#include "slices.h"
#include "support/chain_walks.h"
#include "support/temp_dir.h"

namespace stoker::data::slices {
namespace {

TEST(Slices, AreContiguousEvenAndNested) {
  for (int64_t rows : {0, 1, 2, 3, 7, 8, 31, 1000})
    for (int64_t size : {1, 2, 3, 4, 7}) {
      int64_t at = 0;
      for (int64_t rank = 0; rank < size; ++rank) {
        BatchSlice own = rank_of(rank, size);
        EXPECT_EQ(own.begin(rows), at);
        at = own.end(rows);
        EXPECT_GE(at - own.begin(rows), rows / size);
        EXPECT_LE(at - own.begin(rows), rows / size + 1);
        EXPECT_EQ(rank_of(3 * rank, 3 * size).begin(rows), own.begin(rows));
      }
      EXPECT_EQ(at, rows);
    }
  EXPECT_EQ(rank_of(1, 2).begin(Cardinality::kInfinite - 1), (Cardinality::kInfinite - 1) / 2);
}

Tensor number(int64_t value) { return Tensor::from(std::vector<int64_t>{value}, {}); }

Dataset lengths(int64_t count) {
  return range(count).map(
      [](int64_t x) {
        Tensor row(DType::int64, {x % 5 + 1});
        for (int64_t i = 0; i <= x % 5; ++i) row.data_mut<int64_t>()[i] = 10 * x + i;
        return row;
      },
      {.name = "row", .spec = ElementSpec{{DType::int64, {-1}}}});
}

Dataset counted(int64_t count) {
  return from_generator(kNumber, [count] {
    return [count, at = int64_t(0)]() mutable -> std::optional<Batch> {
      if (at == count) return std::nullopt;
      return Batch{number(at++)};
    };
  });
}

std::vector<Family> families() {
  auto odd = [](int64_t x) { return x % 2 == 1; };
  auto twice = [](const Batch& element) {
    auto n = int64_t(element[0].item());
    return range(n, n + n % 3 + 1);
  };
  auto sum_of = [](const Tensor& batch) {
    Tensor result = batch.clone();
    int64_t total = 0;
    for (int64_t value : batch.values<int64_t>()) total += value;
    for (int64_t i = 0; i < result.elements(); ++i) result.data_mut<int64_t>()[i] += total;
    return result;
  };
  MapOptions of_batches{.name = "sum", .spec = ElementSpec{{DType::int64, {-1}}}};
  auto key = [](const Batch& element) { return int64_t(element[0].item()) % 3; };
  Dataset n = range(43), pairs = zip({range(43), noisy(range(43))});
  return {
      {"batch", n.batch(8)},
      {"batches that divide", range(40).batch(8)},
      {"drop_remainder", n.batch(8, {.drop_remainder = true})},
      {"fewer rows than ranks", range(9).batch(4)},
      {"one row", range(3).batch(1)},
      {"shuffle", n.shuffle().batch(8)},
      {"random map", noisy(n.shuffle()).batch(5)},
      {"shuffle from a window", noisy(n.shuffle(7)).batch(5)},
      {"repeat", noisy(n).repeat(3).batch(8)},
      {"repeat behind batch", noisy(n).batch(8).repeat(2)},
      {"endless", noisy(n).repeat().batch(8).take(9)},
      {"shuffled batches", noisy(n).batch(4).shuffle()},
      {"take, skip and shard of batches", n.batch(3).skip(1).take(12).shard(2, 1)},
      {"take, skip and shard of elements", n.skip(2).take(40).shard(3, 1).batch(4)},
      {"pairs", pairs.batch(6)},
      {"zipped batches", zip({n.batch(6), noisy(n).batch(6)})},
      {"concatenate", n.concatenate(range(100, 111)).batch(6)},
      {"concatenated batches", n.batch(6).concatenate(range(5).batch(2))},
      {"enumerate", n.enumerate().batch(6)},
      {"texts", counted_texts(43).batch(6)},
      {"padded_batch", lengths(43).padded_batch(6)},
      {"padded to a multiple", lengths(43).padded_batch(6, {.multiple_of = 4})},
      {"padded to a shape", lengths(43).padded_batch(6, {.padded_shapes = {Shape{6}}})},
      {"rows of one unknown shape", lengths(43)
                                        .map([](const Tensor& x) { return x.slice(0, 1); },
                                             {.spec = ElementSpec{{DType::int64, {-1}}}})
                                        .batch(4)},
      {"buckets", lengths(43).bucket_by_sequence_length({2, 4}, {5, 4, 3})},
      {"window", n.window(5, {.shift = 3})},
      {"windows in batches", n.window(4, {.shift = 1, .drop_remainder = true}).batch(7)},
      {"windows of a stream", n.filter(odd).window(4, {.shift = 2})},
      {"cache", noisy(n).cache().shuffle().batch(8)},
      {"cached batches", noisy(n).batch(8).cache()},
      {"filter", noisy(n.filter(odd)).batch(4)},
      {"filter of batches",
       n.batch(4).filter([](const Tensor& batch) { return batch.at(0) < 20; })},
      {"unbatch", n.batch(3).unbatch().batch(4)},
      {"rebatch", n.batch(5).rebatch({3, 4})},
      {"flat_map", n.flat_map(kNumber, twice).batch(6)},
      {"interleave", n.interleave(kNumber, twice).batch(6)},
      {"group_by_window",
       n.group_by_window({{DType::int64, {-1}}}, key,
                         [](int64_t, const Dataset& window) { return window.batch(4); },
                         {.window_size = 4})},
      {"generator", counted(23).batch(4)},
      {"generator of batches",
       from_generator({{DType::int64, {-1}}},
                      [] {
                        return [at = int64_t(0)]() mutable -> std::optional<Batch> {
                          if (at == 5) return std::nullopt;
                          return Batch{Tensor::zeros({at++}, DType::int64)};
                        };
                      })},
      {"map of batches", n.batch(8).map(sum_of, of_batches)},
      {"random map of batches", n.batch(8).map(
                                    [](const Tensor& batch, Rng& rng) {
                                      Tensor result = batch.clone();
                                      for (int64_t i = 0; i < result.elements(); ++i)
                                        result.data_mut<int64_t>()[i] += rng.integer(0, 1000);
                                      return result;
                                    },
                                    {.spec = ElementSpec{{DType::int64, {-1}}}, .per_row = true})},
      {"scan", n.scan({number(0)}, kNumber,
                      [](const Batch& state, const Batch& element) {
                        Tensor sum = number(int64_t(state[0].item() + element[0].item()));
                        return std::pair(Batch{sum}, Batch{sum});
                      })
                   .batch(6)},
      {"take_while and unique", n.map([](int64_t x) { return x / 2; })
                                    .unique()
                                    .take_while([](int64_t x) { return x < 17; })
                                    .batch(4)},
      {"samples", sample_from_datasets({n, range(200, 220)}).batch(6)},
      {"samples of batches", sample_from_datasets({n.batch(6), range(200, 220).batch(6)})},
      {"replace", n.map([](int64_t x) {
                     if (x % 7 == 3) throw std::runtime_error("a seventh");
                     return x;
                   })
                      .on_error(OnError::replace)
                      .batch(4)},
      {"as written", noisy(n.shuffle()).batch(5).with_options({.as_written = true})},
      {"ceiling", n.batch(8).ceiling(2)},
  };
}

TEST(Slices, OfAllRanksAreTheBatchesOfOneProcess) {
  for (const Family& family : families()) {
    Dataset dataset = family.dataset.with_options({.seed = 5});
    std::vector<std::string> whole = together({walked(dataset, {})});
    for (int64_t size : {1, 2, 3, 4})
      EXPECT_EQ(of_ranks(dataset, size, size % 2 == 0 ? 4 : 1), whole)
          << family.name << ", " << size << " ranks";
  }
}

// One process may take batches as they become ready; ranks have to take the same ones.
TEST(Slices, ComeInOrderAlsoWhereTheyNeedNot) {
  MapOptions any_order{.name = "minus", .deterministic = false};
  Dataset dataset = range(43).map([](int64_t x) { return -x; }, any_order).batch(5);
  Dataset ordered = range(43).map([](int64_t x) { return -x; }).batch(5);
  for (int64_t size : {1, 2, 3}) EXPECT_EQ(of_ranks(dataset, size, 4), of_ranks(ordered, 1));
}

TEST(Slices, OfFilesAreTheBatchesOfOneProcess) {
  test::TempDir folder;
  std::string lines, table = "a,b\n";
  for (int i = 0; i < 31; ++i) {
    lines += fmt::format("line {}\n", i);
    table += fmt::format("{},{}\n", i, 2 * i);
  }
  std::string path = folder.write("lines.txt", lines), other = folder.write("more.txt", lines);
  std::string saved = folder / "saved";
  range(31).save(saved);
  auto length = [](const Batch& path_of) {
    return text_lines({path_of[0].data<std::string>()[0]});
  };
  std::vector<Family> of_files{
      {"text_lines", text_lines({path, other}).shuffle().batch(4)},
      {"load", load(saved).shuffle().batch(4)},
      {"files", files(folder / "*.txt").map(read_file()).batch(3)},
      {"interleaved files",
       files(folder / "*.txt").interleave({{DType::bytes, {}}}, length).batch(5)},
      {"file cache", range(31).cache(folder / "cache").shuffle().batch(4)},
  };
  for (const Family& family : of_files) {
    Dataset dataset = family.dataset.with_options({.seed = 5});
    std::vector<std::string> whole = together({walked(dataset, {})});
    for (int64_t size : {1, 2, 3, 4}) EXPECT_EQ(of_ranks(dataset, size), whole) << family.name;
  }
}

TEST(Slices, OfRandomChainsAreTheBatchesOfOneProcess) {
  for (uint64_t number = 0; number < 100; ++number) {
    Rng rng(7, number);
    test::StepRef chain = test::draw_chain(rng, {.errors = false});
    Dataset dataset = chain->dataset().padded_batch(4).with_options(
        {.seed = number, .as_written = number % 3 == 0});
    std::vector<std::string> whole = together({walked(dataset, {})});
    for (int64_t size : {2, 3})
      ASSERT_EQ(of_ranks(dataset, size, int(number % 4) + 1), whole)
          << "chain " << number << ": " << chain->text();
  }
}

TEST(Slices, OfMasksHoldTheirRows) {
  Dataset dataset = lengths(7).padded_batch(7, {.mask = true});
  std::vector<Batch> whole = walked(dataset, {}, 1, 1), own = walked(dataset, rank_of(1, 2), 1, 1);
  ASSERT_EQ(own[0][1].shape(), (Shape{4, 5}));
  for (int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(own[0][1].data<bool>()[i], whole[0][1].data<bool>()[15 + i]);
}

// Ragged batches hold values and lengths, which are cut at different places.
TEST(Slices, OfRaggedBatchesHoldTheirRows) {
  Dataset dataset = zip({lengths(23), range(23)}).ragged_batch(6);
  std::vector<std::string> whole = together({walked(dataset, {})});
  for (int64_t size : {1, 2, 3, 4}) EXPECT_EQ(of_ranks(dataset, size), whole);
  Dataset mapped = dataset.map(
      [](const Tensor& a, const Tensor& b, const Tensor& c) { return std::tuple(a, b, c); },
      {.spec = dataset.spec()});
  EXPECT_NE(message_of([&] { walked(mapped, rank_of(0, 2)); }).find("no map follows"),
            std::string::npos);
}

TEST(Slices, MakeNoOtherRows) {
  for (bool window : {false, true}) {
    std::atomic<int64_t> calls = 0;
    Dataset order = window ? range(64).shuffle(10) : range(64).shuffle();
    Dataset dataset = order.map([&](int64_t x) { return ++calls, x; }).batch(8);
    walked(dataset, rank_of(1, 4), 2, 1);
    EXPECT_EQ(calls, 16);
    Iterator walk = dataset.iterate({.slice = rank_of(1, 4)});
    EXPECT_NE(walk.explain().find("rank 1 of 4: makes its rows of every batch and no others"),
              std::string::npos)
        << walk.explain();
  }
}

TEST(Slices, KnowTheRowsOfTheWholeBatch) {
  for (const Family& family : families()) {
    Dataset dataset = family.dataset.with_options({.seed = 5});
    std::vector<Batch> whole = walked(dataset, {}, 2, 1);
    auto stream = dataset.batches().begin_walk({.slice = rank_of(1, 3)});
    for (size_t at = 0; const Batch* batch = stream->next(); ++at) {
      EXPECT_EQ(stream->whole_rows(), whole[at][0].shape()[0]) << family.name;
      EXPECT_EQ((*batch)[0].shape()[0], rank_of(1, 3).end(stream->whole_rows()) -
                                            rank_of(1, 3).begin(stream->whole_rows()));
    }
  }
  Dataset good = bad_sevenths(61).on_error(OnError::skip).batch(4);
  auto stream = good.batches().begin_walk({.slice = rank_of(1, 3)});
  stream->next();
  EXPECT_EQ(stream->whole_rows(), -1);
}

TEST(Slices, OfAMapPerRowMakeNoOtherRows) {
  std::atomic<int64_t> rows = 0;
  auto negated = [&](const Tensor& batch) {
    Tensor result = batch.clone();
    for (int64_t i = 0; i < result.elements(); ++i) result.data_mut<int64_t>()[i] *= -1;
    rows += batch.shape()[0];
    return result;
  };
  MapOptions options{.name = "minus", .spec = ElementSpec{{DType::int64, {-1}}}, .per_row = true};
  Dataset dataset = range(43).batch(8).map(negated, options);
  EXPECT_EQ(of_ranks(dataset, 3), together({walked(dataset, {})}));
  rows = 0;
  walked(dataset, rank_of(0, 4), 1, 1);
  EXPECT_EQ(rows, 10);
}

TEST(Slices, GoOnWithAnotherNumberOfRanks) {
  for (const Family& family : families()) {
    Dataset dataset = family.dataset.with_options({.seed = 5});
    std::vector<std::string> whole = of_ranks(dataset, 4);
    for (size_t used : {size_t(2), whole.size() / 2}) {
      Iterator walk = dataset.iterate({.epochs = 2, .slice = rank_of(2, 4)});
      for (size_t at = 0; at < used; ++at) walk.next();
      if (walk.finished()) continue;
      int64_t left = 2 - walk.epoch();
      std::vector<std::string> rest(whole.begin() + std::ptrdiff_t(used), whole.end());
      EXPECT_EQ(of_ranks(dataset, 3, 2, left, walk.state()), rest) << family.name << ", " << used;
      EXPECT_EQ(together({walked(dataset, {}, 2, left, walk.state())}), rest) << family.name;
    }
  }
}

TEST(Slices, SayWhatTheyNeed) {
  EXPECT_NE(
      message_of([] { range(5).iterate({.slice = rank_of(0, 2)}); }).find("put batch() at the end"),
      std::string::npos);
  EXPECT_THROW(range(5).batch(2).iterate({.slice = rank_of(2, 2)}), ValueError);
  EXPECT_THROW(range(5).batch(2).iterate({.slice = rank_of(0, 0)}), ValueError);
  Dataset stream = range(9).filter([](int64_t) { return true; }).batch(2);
  EXPECT_NE(stream.iterate({.slice = rank_of(0, 2)}).explain().find("up to the batch and keeps"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker::data::slices
