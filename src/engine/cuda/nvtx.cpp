#include "engine/cuda/nvtx.h"

#include <nvtx3/nvToolsExt.h>

namespace stoker {

namespace {

// In a domain of its own, so that a tool can show Stoker's ranges alone.
class NvtxRanges final : public RangeSink {
 public:
  NvtxRanges() : domain_(nvtxDomainCreateA("stoker")) {}
  ~NvtxRanges() override { nvtxDomainDestroy(domain_); }
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  void push(const char* name) override {
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(domain_, &attributes);
  }
  void pop() override { nvtxDomainRangePop(domain_); }

 private:
  nvtxDomainHandle_t domain_;
};

}  // namespace

std::shared_ptr<RangeSink> nvtx_ranges() { return std::make_shared<NvtxRanges>(); }

}  // namespace stoker
