#include "engine/cpu/ops/team_weight_grad.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/cpu/trial.h"

namespace stoker::cpu {

namespace {

constexpr auto kDirectly = dnnl::algorithm::convolution_direct;
constexpr size_t kMostImageBytes = size_t(64) << 20;  // of images: larger steps are the team's

Desc with_images(const Desc& desc, int64_t images) {
  Dims dims = dims_of(desc);
  dims[0] = images;
  return desc.submemory_desc(dims, {0, 0, 0, 0});
}

struct GradAddresses {
  const char *x, *dy;
  float *dw, *db;  // db null: there is none
};

void add_floats(float* to, const float* from, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(float); ++i) to[i] += from[i];
}

// oneDNN 2.6's kernel for 1×1 convolutions gives wrong sums, and writes behind its scratchpad, for
// some numbers of threads where strides leave out pixels (8 → 16 channels at 16×16, batch 8, 12 threads).
bool is_wrong(const Convolution& c, const WeightGradDesc& desc) {
  return (c.strides[0] > 1 || c.strides[1] > 1) &&
         std::string_view(desc.impl_info_str()).starts_with("jit_1x1");
}

// Of images x and y, which the forward primitive of `c` must share.
WeightGradDesc weight_grad_desc(const Convolution& c, bool with_bias, const Desc& x, const Desc& w,
                                const Desc& y) {
  dnnl::convolution_forward::primitive_desc hint = c.hint(with_bias);
  auto describe_with = [&](const auto&... bias) {
    auto desc = describe_gradient<dnnl::convolution_backward_weights>(
        attr_with_scratchpad(), hint, kDirectly, x, w, bias..., y, c.strides, c.dilation, c.before,
        c.after);
    while (is_wrong(c, desc) && desc.next_impl()) continue;
    return desc;
  };
  return with_bias ? describe_with(c.bias()) : describe_with();
}

}  // namespace

WeightGradDesc weight_grad_desc(const Convolution& c, bool with_bias, int64_t images,
                                const WeightGradDesc& like) {
  Convolution part = c;
  part.x = with_images(like.src_desc(), images);
  part.y = with_images(like.diff_dst_desc(), images);
  return weight_grad_desc(part, with_bias, part.x, like.diff_weights_desc(), part.y);
}

WeightGradDesc weight_grad_desc(const Convolution& c, bool with_bias) {
  return weight_grad_desc(c, with_bias, c.image(c.x), any_desc(c.w), c.image(c.y));
}

// A primitive with memory objects that take their addresses at every call.
struct TeamWeightGrad::Call {
  dnnl::convolution_backward_weights primitive;
  dnnl::memory x, dy, dw, db, scratchpad;
  std::vector<dnnl_exec_arg_t> arguments;
  AlignedBlock space;  // of the scratchpad, where the program has none

  Call(const WeightGradDesc& desc, bool with_bias, bool own_scratchpad)
      : primitive(desc),
        x(desc.src_desc(), cpu_engine(), nullptr),
        dy(desc.diff_dst_desc(), cpu_engine(), nullptr),
        dw(desc.diff_weights_desc(), cpu_engine(), nullptr) {
    arguments = {
        {DNNL_ARG_SRC, x.get()}, {DNNL_ARG_DIFF_DST, dy.get()}, {DNNL_ARG_DIFF_WEIGHTS, dw.get()}};
    if (with_bias) {
      db = dnnl::memory(desc.diff_bias_desc(), cpu_engine(), nullptr);
      arguments.push_back({DNNL_ARG_DIFF_BIAS, db.get()});
    }
    size_t bytes = desc.scratchpad_desc().get_size();
    if (bytes == 0) return;
    if (own_scratchpad) space = AlignedBlock(bytes + kBeyondScratchpad);
    scratchpad = dnnl::memory(desc.scratchpad_desc(), cpu_engine(), space.data());
    arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad.get()});
  }

  void run(const GradAddresses& a, dnnl_stream_t stream) {
    x.set_data_handle(const_cast<char*>(a.x));
    dy.set_data_handle(const_cast<char*>(a.dy));
    dw.set_data_handle(a.dw);
    if (a.db != nullptr) db.set_data_handle(a.db);
    execute(primitive, arguments, stream);
  }
};

struct TeamWeightGrad::Alone {
  enum class Way { whole, by_worker };

  Alone(const TeamWeightGrad& of, dnnl_stream_t on)
      : stream(on),
        x_bytes(of.desc_.src_desc().get_size()),
        dy_bytes(of.desc_.diff_dst_desc().get_size()),
        dw_bytes(of.desc_.diff_weights_desc().get_size()),
        db_bytes(of.with_bias_ ? of.desc_.diff_bias_desc().get_size() : 0),
        images(dims_of(of.convolution_.x)[0]),
        workers(of.workers_),
        partial(dw_bytes),
        partial_bias(std::max<size_t>(db_bytes, 4)),
        unused_bias(std::max<size_t>(db_bytes, 4)) {
    OneThreadScope one;
    auto make = [&](int64_t count) {
      return std::make_unique<Call>(
          weight_grad_desc(of.convolution_, of.with_bias_, count, of.desc_), of.with_bias_, true);
    };
    whole = make(images);
    most = make((images + workers - 1) / workers);
    fewest = make(std::max<int64_t>((images + workers - 1) / workers - 1, 1));
  }

  void run_whole(const GradAddresses& a) const { whole->run(a, stream); }

  // As oneDNN divides them: the first workers have one image more.
  void run_by_worker(const GradAddresses& a) const {
    int64_t larger = (images + workers - 1) / workers, at = 0;
    int64_t with_more = images - (larger - 1) * workers;
    size_t x_image = x_bytes / size_t(images), dy_image = dy_bytes / size_t(images);
    for (int64_t worker = 0; worker < workers; ++worker) {
      bool first = worker == 0;
      GradAddresses part{a.x + size_t(at) * x_image, a.dy + size_t(at) * dy_image,
                         first ? a.dw : static_cast<float*>(partial.data()),
                         a.db == nullptr ? nullptr
                         : first         ? a.db
                                         : static_cast<float*>(partial_bias.data())};
      (worker < with_more ? most : fewest)->run(part, stream);
      at += worker < with_more ? larger : larger - 1;
      if (first) continue;
      add_floats(a.dw, part.dw, dw_bytes);
      if (a.db != nullptr) add_floats(a.db, part.db, db_bytes);
    }
  }

  void run(Way way, const GradAddresses& a) const {
    way == Way::whole ? run_whole(a) : run_by_worker(a);
  }

  // The bias first, with weights that are then overwritten where they come the other way.
  void run(const GradAddresses& a) const {
    OneThreadScope one;
    if (a.db != nullptr) run(bias, a);
    if (a.db != nullptr && bias == weights) return;
    GradAddresses without = a;
    if (a.db != nullptr) without.db = static_cast<float*>(unused_bias.data());
    run(weights, without);
  }

  // False: neither way gives the team's bits.
  bool find_ways(const TeamWeightGrad& of) {
    auto type = blocks_of(of.desc_.src_desc()).type;
    AlignedBlock x = random_block(x_bytes, type), dy = random_block(dy_bytes, type);
    AlignedBlock dw(dw_bytes), db(std::max<size_t>(db_bytes, 4)), got(dw_bytes),
        got_bias(std::max<size_t>(db_bytes, 4));
    auto at = [](const AlignedBlock& block) { return static_cast<float*>(block.data()); };
    GradAddresses a{static_cast<char*>(x.data()), static_cast<char*>(dy.data()), at(dw),
                    db_bytes > 0 ? at(db) : nullptr};
    Call(of.desc_, of.with_bias_, true).run(a, stream);
    bool weights_found = false, bias_found = db_bytes == 0;
    a.dw = at(got), a.db = db_bytes > 0 ? at(got_bias) : nullptr;
    OneThreadScope one;
    for (Way way : {Way::by_worker, Way::whole}) {
      if (way == Way::by_worker && images < workers) continue;
      run(way, a);
      if (std::memcmp(got.data(), dw.data(), dw_bytes) == 0) weights = way, weights_found = true;
      if (db_bytes > 0 && std::memcmp(got_bias.data(), db.data(), db_bytes) == 0)
        bias = way, bias_found = true;
    }
    return weights_found && bias_found;
  }

  dnnl_stream_t stream;
  size_t x_bytes, dy_bytes, dw_bytes, db_bytes;
  int64_t images, workers;
  AlignedBlock partial, partial_bias, unused_bias;
  std::unique_ptr<Call> whole, most, fewest;
  Way weights = Way::whole, bias = Way::whole;
};

TeamWeightGrad::TeamWeightGrad(const Convolution& convolution, bool with_bias,
                               const WeightGradDesc& desc, const dnnl::stream& stream)
    : convolution_(convolution),
      with_bias_(with_bias),
      desc_(desc),
      stream_(stream),
      workers_(team_size()),
      team_(std::make_unique<Call>(desc, with_bias, false)) {}
TeamWeightGrad::~TeamWeightGrad() = default;

void TeamWeightGrad::run(Pointers p) const {
  GradAddresses a{p.in<char>(0), p.in<char>(1), p.out<float>(2),
                  with_bias_ ? p.out<float>(3) : nullptr};
  if (AloneScope::is_alone()) {
    size_t bytes = desc_.src_desc().get_size() + desc_.diff_dst_desc().get_size();
    if (!std::exchange(tried_, true) && bytes <= kMostImageBytes) {
      auto alone = std::make_unique<Alone>(*this, stream_.get());
      if (alone->find_ways(*this)) alone_ = std::move(alone);
    }
    if (alone_ != nullptr) return alone_->run(a);
  }
  if (team_->scratchpad) team_->scratchpad.set_data_handle(p.out<void>(with_bias_ ? 4 : 3));
  team_->run(a, stream_.get());
}

}  // namespace stoker::cpu
