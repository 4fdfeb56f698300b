// One image operation: its spec rule, and how it takes part in the plan for one element.
#pragma once

#include <string>

#include <stoker/image.h>

#include "data/image/passes.h"

namespace stoker::image {

struct Workspace;

// Decoded pixels, from the first one that was asked for.
struct Pixels {
  const void* data = nullptr;
  int64_t stride = 0;  // bytes between rows
};

class Step {
 public:
  virtual ~Step() = default;
  virtual std::string name() const = 0;
  // The options that change results and are not, or not to the last digit, in the name.
  virtual std::string options() const { return {}; }
  virtual TensorSpec infer(const TensorSpec& in) const = 0;
  virtual bool is_random() const { return false; }
  // Whether plan() looks at the value itself, not only at its spec (decoders open it). What comes
  // before is then done first.
  virtual bool reads_value() const { return false; }
  // Extends the plan by this step. `source` is what the plan begins with; `rng` is null only for
  // steps that are not random. Draws its random numbers here.
  virtual void plan(const ConstTensorView& source, Plan& plan, Rng* rng) const = 0;

  // Decoders: the pixels of `box` of the picture opened by plan(), at 1/shrink of its size.
  virtual Pixels decode(const Box& box, int shrink, Workspace& workspace) const;
  // Decoders: the whole picture into `out`, rows without gaps.
  virtual void decode_to(uint8_t* out, Workspace& workspace) const;
  // Steps that Plan::whole was called with. `key`: what plan() drew, if it draws.
  virtual void run(const ConstTensorView& in, const TensorView& out) const;
  virtual void run_keyed(const ConstTensorView& in, const TensorView& out, uint64_t key) const {
    (void)key;
    run(in, out);
  }
};

// --- what spec rules have in common ---

// ShapeError: "NAME: got SPEC; WHAT".
[[noreturn]] void refuse(const Step& step, const TensorSpec& in, std::string_view what);
// uint8 or float32
void check_pixel_dtype(const Step& step, const TensorSpec& in);
// … of rank 3
void check_picture(const Step& step, const TensorSpec& in);
void check_bytes(const Step& step, const TensorSpec& in);

}  // namespace stoker::image
