#include "engine/cpu/runtime.h"

#include <cstdlib>
#include <utility>

#include "engine/cpu/trial.h"

namespace stoker::cpu {

void limit_isa() {
  static const bool limited = [] {
    bool asked =
        std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr || std::getenv("DNNL_MAX_CPU_ISA") != nullptr;
    return !kOneDnn3 && !asked &&
           dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16) == dnnl::status::success;
  }();
  (void)limited;
}

const dnnl::engine& cpu_engine() {
  limit_isa();
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

struct PrimitiveKernel::Alone {
  PrimitiveCall call;
  AlignedBlock space;
  dnnl::memory scratchpad;

  // The arguments of `team`, with another scratchpad.
  Alone(const PrimitiveCall& team, AloneForm form)
      : call{std::move(form.primitive), {}, {}},
        space(form.scratchpad.get_size() + kBeyondScratchpad) {
    auto add = [&](const dnnl_exec_arg_t& argument, const dnnl::memory::desc& desc) {
      call.arguments.push_back(argument);
      call.descs.push_back(desc);
    };
    for (size_t i = 0; i < team.arguments.size(); ++i)
      if (team.arguments[i].arg != DNNL_ARG_SCRATCHPAD) add(team.arguments[i], team.descs[i]);
    if (form.scratchpad.get_size() == 0) return;
    scratchpad = dnnl::memory(form.scratchpad, cpu_engine(), space.data());
    add({DNNL_ARG_SCRATCHPAD, scratchpad.get()}, form.scratchpad);
  }
};

PrimitiveKernel::PrimitiveKernel(PrimitiveCall call, MakeAlone make_alone,
                                 const dnnl::stream& stream)
    : call_(std::move(call)), make_alone_(std::move(make_alone)), stream_(stream.get()) {}
PrimitiveKernel::~PrimitiveKernel() = default;

void PrimitiveKernel::run(Pointers) const {
  if (!AloneScope::is_alone()) return execute(call_.primitive, call_.arguments, stream_);
  if (!std::exchange(tried_, true) && make_alone_ && TrialMemory::takes(call_)) {
    TrialMemory by_team(call_.arguments, call_.descs);
    execute(call_.primitive, by_team.arguments(), stream_);
    OneThreadScope one;
    alone_ = std::make_unique<Alone>(call_, make_alone_());
    TrialMemory by_one(alone_->call.arguments, alone_->call.descs);
    execute(alone_->call.primitive, by_one.arguments(), stream_);
    if (!by_team.equals(by_one)) alone_.reset();
  }
  if (alone_ == nullptr) return execute(call_.primitive, call_.arguments, stream_);
  OneThreadScope one;
  execute(alone_->call.primitive, alone_->call.arguments, stream_);
}

}  // namespace stoker::cpu
