#include "engine/cpu/trial.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace stoker::cpu {

namespace {

constexpr size_t kMostTrialBytes = size_t(64) << 20;

// The bytes of random floats are integers too.
bool is_drawn(dnnl::memory::data_type type) {
  using Type = dnnl::memory::data_type;
  return type == Type::f32 || type == Type::bf16 || type == Type::u8 || type == Type::s8 ||
         type == Type::s32;
}

}  // namespace

void execute(const dnnl::primitive& primitive, const std::vector<dnnl_exec_arg_t>& arguments,
             dnnl_stream_t stream) {
  dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), stream, int(arguments.size()), arguments.data());
  if (status != dnnl_success)
    throw Error(fmt::format("oneDNN could not run a primitive (status {})", int(status)));
}

AlignedBlock random_block(size_t bytes, dnnl::memory::data_type type) {
  AlignedBlock block(bytes);
  uint64_t random = 1;
  auto next = [&] {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return float(int32_t(random >> 32)) * 0x1p-31F;
  };
  if (type == dnnl::memory::data_type::bf16) {
    auto* values = static_cast<BFloat16*>(block.data());
    for (size_t i = 0; i < bytes / sizeof(BFloat16); ++i)
      values[i] = BFloat16(std::ldexp(next(), -int((random >> 20) & 15)));
    return block;
  }
  auto* values = static_cast<float*>(block.data());
  for (size_t i = 0; i < bytes / sizeof(float); ++i) values[i] = next();
  return block;
}

TrialMemory::TrialMemory(const std::vector<dnnl_exec_arg_t>& arguments,
                         const std::vector<dnnl::memory::desc>& descs) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    blocks_.push_back(
        random_block(descs[i].get_size() + kBeyondScratchpad, blocks_of(descs[i]).type));
    memories_.emplace_back(descs[i], cpu_engine(), blocks_.back().data());
    arguments_.push_back({arguments[i].arg, memories_.back().get()});
  }
}

bool TrialMemory::equals(const TrialMemory& other) const {
  size_t at = 0;  // scratchpads stand at the end, and one of the two may have none
  for (; at < std::min(blocks_.size(), other.blocks_.size()); ++at) {
    if (arguments_[at].arg == DNNL_ARG_SCRATCHPAD) break;
    if (std::memcmp(blocks_[at].data(), other.blocks_[at].data(), blocks_[at].bytes()) != 0)
      return false;
  }
  return true;
}

bool TrialMemory::takes(const PrimitiveCall& call) {
  size_t bytes = 0;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    bytes += call.descs[i].get_size();
    if (call.arguments[i].arg != DNNL_ARG_SCRATCHPAD && !is_drawn(blocks_of(call.descs[i]).type))
      return false;
  }
  return bytes <= kMostTrialBytes;
}

}  // namespace stoker::cpu
