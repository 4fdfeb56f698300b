// A processor that shows AMX without its tiles must not get oneDNN's kernels for AMX.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "engine/cpu/onednn.h"

namespace stoker::cpu {
namespace {

bool uses_amx() {
  constexpr auto kAmx = unsigned(dnnl::cpu_isa::avx512_core_amx) & ~unsigned(kWithoutAmx);
  return (effective_isa() & kAmx) != 0;
}

TEST(IsaLimit, OneDnnUsesAmxOnlyWhereItsTilesAreUsable) {
  if (std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr || std::getenv("DNNL_MAX_CPU_ISA") != nullptr)
    GTEST_SKIP() << "the environment limits oneDNN";
  EXPECT_EQ(uses_amx(), processor_tiles() == Tiles::usable);
}

// Crashed with SIGILL on such a processor.
TEST(IsaLimit, ConvolvesInInt8OnThisProcessor) {
  using Type = dnnl::memory::data_type;
  using Tag = dnnl::memory::format_tag;
  Desc x({32, 16, 6, 6}, Type::u8, Tag::acdb), w({24, 16, 3, 3}, Type::s8, Tag::any),
      y({32, 24, 4, 4}, Type::s32, Tag::acdb);
  auto made = describe<dnnl::convolution_forward>({}, dnnl::prop_kind::forward_inference,
                                                  dnnl::algorithm::convolution_direct, x, w, y,
                                                  Dims{1, 1}, Dims{0, 0}, Dims{0, 0}, Dims{0, 0});
  dnnl::memory images(x, cpu_engine()), results(y, cpu_engine()),
      kernels(made.weights_desc(), cpu_engine());
  auto fill = [](dnnl::memory& memory, int value) {
    auto* bytes = static_cast<uint8_t*>(memory.get_data_handle());
    std::fill_n(bytes, memory.get_desc().get_size(), uint8_t(value));
  };
  fill(images, 1);
  fill(kernels, 1);
  dnnl::stream stream(cpu_engine());
  dnnl::convolution_forward(made).execute(
      stream, {{DNNL_ARG_SRC, images}, {DNNL_ARG_WEIGHTS, kernels}, {DNNL_ARG_DST, results}});
  stream.wait();
  EXPECT_EQ(*static_cast<int32_t*>(results.get_data_handle()), 16 * 3 * 3);
}

}  // namespace
}  // namespace stoker::cpu
