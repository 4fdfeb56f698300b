// NumPy's files: both ways with the package itself (check_numpy.py), and files that it would not write.
#include <stoker/numpy.h>

#include <iostream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/elements.h"
#include "support/peer_python.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using test::TempDir;

std::string npy(const std::string& header, const std::string& values, char version = 1) {
  std::string bytes("\x93NUMPY");
  bytes += version;
  bytes += '\0';
  bytes += char(header.size());
  bytes.append(version == 1 ? 1 : 3, '\0');
  return bytes + header + values;
}

std::string header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': (" + shape + "), }";
}

TensorMap all_arrays() {
  Tensor counted = Tensor::from<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  TensorMap arrays = {{"scalar", Tensor::full({}, -7, DType::int64)},
                      {"empty", Tensor::zeros({0, 4})},
                      {"one", Tensor::from({0.5F}, {1})},
                      {"texts", Tensor::from<std::string>({"a", "", "long one"}, {3})}};
  for (DType dtype : {DType::float32, DType::float16, DType::int8, DType::int16, DType::int32,
                      DType::int64, DType::uint8, DType::bool_})
    arrays[std::string(name(dtype))] = counted.cast(dtype);
  return arrays;
}

std::string problem_of(const TempDir& dir, const std::string& bytes) {
  return data::message_of([&] { load_npy(dir.write("a.npy", bytes)); });
}

TEST(Numpy, ArraysComeBackAsTheyWere) {
  TempDir dir;
  for (bool compressed : {false, true}) {
    save_npz(dir / "a.npz", all_arrays(), {.compressed = compressed});
    EXPECT_EQ(load_npz(dir / "a.npz"), all_arrays());
  }
  for (const auto& [name, tensor] : all_arrays()) {
    save_npy(dir / "a.npy", tensor);
    EXPECT_EQ(load_npy(dir / "a.npy"), tensor) << name;
  }
  EXPECT_THROW(save_npy(dir / "b", Tensor::zeros({1}, DType::bfloat16)), ValueError);
  EXPECT_THROW(save_npy(dir / "b", Tensor()), ValueError);
}

TEST(NumpyPackage, ReadsOursAndWritesWhatWeRead) {
  TempDir dir;
  save_npz(dir / "ours.npz", all_arrays());
  save_npz(dir / "packed.npz", all_arrays(), {.compressed = true});
  save_npy(dir / "ours.npy", all_arrays().at("float32"));
  STOKER_EXPECT_PEER("data/check_numpy.py", dir.path().string());
  EXPECT_EQ(load_npz(dir / "theirs.npz"), all_arrays());
  EXPECT_EQ(load_npz(dir / "theirs_packed.npz"), all_arrays());
  TensorMap others = load_npz(dir / "others.npz");
  Tensor counted = Tensor::from<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  EXPECT_EQ(others.at("fortran"), counted);
  EXPECT_EQ(others.at("big_endian"), counted);
  EXPECT_EQ(others.at("big_fortran"), counted.cast(DType::int32));
  EXPECT_EQ(others.at("float64"), counted);
  EXPECT_EQ(others.at("uint16"), Tensor::from<int32_t>({0, 65535}, {2}));
  EXPECT_EQ(others.at("uint32"), Tensor::from<int64_t>({0, 4294967295}, {2}));
  EXPECT_EQ(others.at("unicode"), Tensor::from<std::string>({"ä€", "𝄞"}, {2}));
  EXPECT_EQ(others.at("cube").data<float>()[23], 23);
  EXPECT_EQ(load_npy(dir / "version2.npy"), counted);
  EXPECT_EQ(load_npy(dir / "version3.npy"), counted);
  EXPECT_NE(data::message_of([&] { load_npy(dir / "objects.npy"); }).find("allow_pickle=False"),
            std::string::npos);
  EXPECT_NE(data::message_of([&] { load_npy(dir / "complex.npy"); }).find("complex"),
            std::string::npos);
  EXPECT_NE(data::message_of([&] { load_npy(dir / "records.npy"); }).find("several fields"),
            std::string::npos);
  EXPECT_EQ(load_npz(dir / "zip64.npz").at("x"), counted);
}

TEST(Numpy, FilesAreNotTrusted) {
  TempDir dir;
  std::string good = npy(header("<f4", "2,"), std::string(8, '\0'));
  EXPECT_EQ(load_npy(dir.write("good.npy", good)).shape(), Shape({2}));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(problem_of(dir, good.substr(0, length)), "no error") << length;
  EXPECT_NE(problem_of(dir, good + "x").find("1 bytes behind its array"), std::string::npos);
  for (const char* shape :
       {"99999999999,", "4294967296, 4294967296, 4294967296", "-1,", "x", "1 2"})
    EXPECT_NE(problem_of(dir, npy(header("<f4", shape), "")), "no error") << shape;
  for (const char* descr :
       {"<f3", "<i16", "O", "<M8[ns]", "", "<", "<f99999999999999999999", "|V2"})
    EXPECT_NE(problem_of(dir, npy(header(descr, "0,"), "")), "no error") << descr;
  EXPECT_NE(problem_of(dir, npy(header("<f4", "0,"), "", 4)).find("version 4"), std::string::npos);
  EXPECT_NE(problem_of(dir, npy(header("<u8", "1,"), std::string(8, '\xFF'))).find("int64"),
            std::string::npos);
  EXPECT_NE(problem_of(dir, npy(header("<U1", "1,"), std::string(4, '\x7F'))).find("no character"),
            std::string::npos);
  EXPECT_NE(problem_of(dir, npy("{'descr': '<f4'}", "")).find("have to be there"),
            std::string::npos);
}

TEST(Numpy, DamagedArchivesAreErrors) {
  TempDir dir;
  for (bool compressed : {false, true}) {
    save_npz(dir / "a.npz", {{"x", Tensor::zeros({40})}}, {.compressed = compressed});
    const std::string good = read_text(dir / "a.npz");
    for (size_t length = 0; length < good.size(); ++length)
      EXPECT_THROW(load_npz(dir.write("b.npz", good.substr(0, length))), FileError) << length;
    for (size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = char(bad[at] ^ 0x55);
      try {  // a changed date or name is no damage
        load_npz(dir.write("b.npz", bad));
      } catch (const FileError&) {
      }
    }
  }
}

TEST(Numpy, ArraysAreDatasets) {
  TempDir dir;
  Tensor x = Tensor::from<float>({1, 2, 3, 4}, {2, 2}), y = Tensor::from<int64_t>({7, 8}, {2});
  save_npz(dir / "a.npz", {{"x", x}, {"y", y}});
  save_npy(dir / "x.npy", x);
  save_npy(dir / "y.npy", y);
  for (const data::Dataset& rows : {data::npz(dir / "a.npz", {"x", "y"}), data::npz(dir / "a.npz"),
                                    data::npy({dir / "x.npy", dir / "y.npy"})}) {
    EXPECT_EQ(data::to_string(rows.spec()), "(float32[2], int64[])");
    EXPECT_TRUE(rows.random_access());
    Batch batch = rows.batch(2).get_single_element();
    EXPECT_EQ(batch[0], x);
    EXPECT_EQ(batch[1], y);
  }
  EXPECT_NE(data::message_of([&] {
              data::npz(dir / "a.npz", {"z"});
            }).find("holds no array \"z\"; there are x, y"),
            std::string::npos);
  EXPECT_THROW(data::npy({}), ValueError);
}

}  // namespace
}  // namespace stoker
