// What the machine can do, without any framework: copying memory, and decoding JPEG with
// libjpeg-turbo.
//   limits THREADS FOLDER     one JSON line: memcpy in GB/s (bytes copied, all threads), decoded
//   images/s of one core
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <jpeglib.h>  // needs <cstdio> before it

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<unsigned char>;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + long(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Each thread copies its own 128 MiB, which no cache of this field holds.
double memcpy_rate(int threads) {
  constexpr size_t kBytes = size_t(128) << 20;
  std::vector<Bytes> from(size_t(threads), Bytes(kBytes, 1)), to(size_t(threads), Bytes(kBytes, 2));
  std::vector<double> rates;
  for (int round = 0; round < 9; ++round) {
    const auto begin = Clock::now();
    std::vector<std::jthread> team;
    for (int thread = 0; thread < threads; ++thread)
      team.emplace_back([&, thread] {
        std::memcpy(to[size_t(thread)].data(), from[size_t(thread)].data(), kBytes);
      });
    team.clear();
    rates.push_back(double(kBytes) * threads / seconds_since(begin) / 1e9);
  }
  return median(rates);
}

void decode(const Bytes& file, Bytes& pixels) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const size_t row = size_t(info.output_width) * 3;
  pixels.resize(row * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW line = pixels.data() + row * info.output_scanline;
    jpeg_read_scanlines(&info, &line, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}

std::vector<Bytes> read_folder(const std::string& folder, size_t most) {
  std::vector<Bytes> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_directory() || files.size() == most) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return files;
}

double jpeg_rate(const std::string& folder) {
  const auto files = read_folder(folder, 100);
  Bytes pixels;
  std::vector<double> rates;
  for (int round = 0; round < 5; ++round) {
    const auto begin = Clock::now();
    for (const Bytes& file : files) decode(file, pixels);
    rates.push_back(double(files.size()) / seconds_since(begin));
  }
  return median(rates);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "limits THREADS FOLDER\n"), 2;
  std::printf("{\"memcpy_gb_s\": %.2f, ", memcpy_rate(std::atoi(argv[1])));
  std::printf("\"jpeg_images_s\": %.1f}\n", jpeg_rate(argv[2]));
}
