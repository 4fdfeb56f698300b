#include "engine/cpu/runtime.h"

#include <fmt/format.h>

#include "engine/cpu/team.h"

namespace stoker::cpu {

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr attr_with_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void reorder_now(const dnnl::memory::desc& from, void* source, const dnnl::memory::desc& to,
                 void* target) {
  check_team(team_size());
  dnnl::stream stream(cpu_engine());
  dnnl::memory in(from, cpu_engine(), source), out(to, cpu_engine(), target);
  dnnl::reorder(in, out).execute(stream, in, out);
  stream.wait();
}

void PrimitiveKernel::run(Pointers) const {
  // A CPU stream runs a primitive before the call returns.
  dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream_, int(arguments_.size()), arguments_.data());
  if (status != dnnl_success)
    throw Error(fmt::format("oneDNN could not run a primitive (status {})", int(status)));
}

}  // namespace stoker::cpu
