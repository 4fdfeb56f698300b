// Pooling works on planes [H][W][inner]: an image in NHWC, or one block of channels of a blocked
// one.
#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

struct Pooling {
  ImageView x = {}, y = {};
  PoolGeometry geometry = {};
  Layout x_layout, y_layout;

  // `x_layout` is kept if it is one the kernels understand.
  Pooling(const Attrs& attrs, const TensorSpec& x_spec, const TensorSpec& y_spec,
          const Layout& layout)
      : x_layout(layout), y_layout(blocked_like(x_spec, layout, y_spec.shape)) {
    if (y_layout.is_plain()) x_layout = {};
    view_image(x_spec, x_layout, x);
    view_image(y_spec, y_layout, y);
    const Ints &window = attrs.get<Ints>("window"), &strides = attrs.get<Ints>("strides"),
               &pads = attrs.get<Ints>("pads");
    geometry = {x.height,   x.width, y.height, y.width, window[0],      window[1],      strides[0],
                strides[1], pads[0], pads[2],  x.inner, x.pixel_stride, y.pixel_stride, false};
    geometry.relu = attrs.get_or<std::string>("activation", "") == "relu";
  }

  bool side_by_side() const {
    return geometry.window_h == 2 && geometry.window_w == 2 && geometry.stride_h == 2 &&
           geometry.stride_w == 2 && geometry.top == 0 && geometry.left == 0 &&
           2 * y.height <= x.height && 2 * y.width <= x.width;
  }
  int64_t planes() const { return x.batch * x.blocks; }
  int64_t work() const { return x.batch * x.height * x.width * x.channels; }
  int64_t x_plane(int64_t plane) const { return offset(x, plane); }
  int64_t y_plane(int64_t plane) const { return offset(y, plane); }

 private:
  static int64_t offset(const ImageView& view, int64_t plane) {
    return plane / view.blocks * view.image_stride + plane % view.blocks * view.block_stride;
  }
};

using Forward = void (*)(const float*, float*, const PoolGeometry&, int64_t, int64_t);

// Rows of all planes, divided evenly: a plane of a small batch may be shared.
void run_forward(const Pooling& pool, Forward function, const float* x, float* y) {
  int64_t rows = pool.y.height, total = pool.planes() * rows;
  parallel_for(total, total * kGrain / (pool.work() + 1) + 1, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      int64_t plane = begin / rows, first = begin % rows;
      int64_t last = first + end - begin < rows ? first + end - begin : rows;
      function(x + pool.x_plane(plane), y + pool.y_plane(plane), pool.geometry, first, last);
      begin += last - first;
    }
  });
}

template <class Body>
void for_each_plane(const Pooling& pool, const Body& body) {
  parallel_for(pool.planes(), pool.work() < 2 * kGrain ? pool.planes() : 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t plane = begin; plane < end; ++plane) body(plane);
               });
}

void build_forward(Builder& b, const Node& node, Forward function) {
  int x = node.inputs[0], y = node.outputs[0];
  Pooling pool(node.attrs, b.spec(x), b.spec(y), b.layout(x));
  int in = b.input(x, pool.x_layout);
  b.emit({own_kernel(), {in}, {b.define(y, pool.y_layout)}},
         [=](Pointers p) { run_forward(pool, function, p.in<float>(0), p.out<float>(1)); });
}

void build_max_pool2d(Builder& b, const Node& node) { build_forward(b, node, kernels().max_pool); }
void build_avg_pool2d(Builder& b, const Node& node) { build_forward(b, node, kernels().avg_pool); }

// x: [B, H, W, C], y and dy: [B, H', W', C] → dx. y is not read: finding the maximum again costs
// less.
void build_max_pool2d_grad(Builder& b, const Node& node) {
  int x = node.inputs[0], dy = node.inputs[2], dx = node.outputs[0];
  Pooling pool(node.attrs, b.spec(x), b.spec(dy), b.layout(x));
  int in = b.input(x, pool.x_layout), d = b.input(dy, pool.y_layout);
  // Over x where windows do not overlap: its lines are in the cache already (22 MB less traffic for
  // 64x26x26, batch 128).
  int out =
      pool.side_by_side() ? b.define_over(dx, pool.x_layout, {in}) : b.define(dx, pool.x_layout);
  auto function = kernels().max_pool_grad;
  b.emit({own_kernel(), {in, d}, {out}}, [=](Pointers p) {
    for_each_plane(pool, [&](int64_t plane) {
      function(p.in<float>(0) + pool.x_plane(plane), p.in<float>(1) + pool.y_plane(plane),
               p.out<float>(2) + pool.x_plane(plane), pool.geometry);
    });
  });
}

// dy: [B, H', W', C] → dx: [B, H, W, C]
void build_avg_pool2d_grad(Builder& b, const Node& node) {
  int dy = node.inputs[0], dx = node.outputs[0];
  Layout like = blocked_like(b.spec(dy), b.layout(dy), b.shape(dx));
  Pooling pool(node.attrs, b.spec(dx), b.spec(dy), like);
  int d = b.input(dy, pool.y_layout);
  auto function = kernels().avg_pool_grad;
  b.emit({own_kernel(), {d}, {b.define(dx, pool.x_layout)}}, [=](Pointers p) {
    for_each_plane(pool, [&](int64_t plane) {
      function(p.in<float>(0) + pool.y_plane(plane), p.out<float>(1) + pool.x_plane(plane),
               pool.geometry);
    });
  });
}

}  // namespace

void add_pooling_builders(OpBuilders& table) {
  table["max_pool2d"] = {floats, build_max_pool2d};
  table["max_pool2d_grad"] = {floats, build_max_pool2d_grad};
  table["avg_pool2d"] = {floats, build_avg_pool2d};
  table["avg_pool2d_grad"] = {floats, build_avg_pool2d_grad};
}

}  // namespace stoker::cpu
