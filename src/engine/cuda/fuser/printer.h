// The scalars of a region as statements of CUDA C++ for a thread that owns a few consecutive
// elements ("lanes"). Loads come first and together, so that many are in flight; what lies side by
// side is loaded in sixteen bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/cuda/fuser/region.h"

namespace stoker::fuser {

std::string_view element_type(DType dtype);  // in memory
std::string_view compute_type(DType dtype);  // in registers

// How a load of some lanes is done.
enum class Access : uint8_t {
  vector,     // lanes lie side by side
  broadcast,  // all lanes read one element
  each,       // one by one
};
Access access_of(const Scalar& load, Counter counter, int lanes);

// The scalars that `wanted` needs, in order: those that vary with what is reduced, or the others.
std::vector<int> needed(const Region& region, int wanted, bool varying);

class Printer {
 public:
  // `counter` is the one along which lanes lie. Copies of what is declared exist `unroll` times,
  // indexed by `u`.
  Printer(const Region& region, std::vector<int> scalars, Counter counter, int lanes, int unroll);

  std::string declarations() const;  // of what is loaded
  // With the counters k and r at the first lane.
  std::string loads() const;
  // Runs `then` for every lane, where the scalar i is called s<i>.
  std::string for_each_lane(const std::string& then) const;
  // Loads that the caller does itself, into l<i>[u].
  void take_tiled(std::vector<int> tiled) { tiled_ = std::move(tiled); }
  void set_unroll(int unroll) { unroll_ = unroll; }
  // Scalars that were kept as o<i>[lane]; ahead of a loop.
  void take_kept(std::vector<int> kept) { kept_ = std::move(kept); }

 private:
  const Scalar& at(int scalar) const { return region_.scalars[size_t(scalar)]; }
  bool is_tiled(int scalar) const;
  Access access(int scalar) const;
  std::string one_load(int scalar) const;
  std::string expression(int scalar) const;
  bool is_uniform(const Scalar& guard) const;
  std::string name_of(int scalar) const;
  std::string counter_name() const { return counter_ == Counter::kept ? "k" : "r"; }

  const Region& region_;
  std::vector<int> scalars_, loads_, kept_, tiled_;
  Counter counter_;
  int lanes_, unroll_;
};

std::string literal(double value, DType dtype);

}  // namespace stoker::fuser
