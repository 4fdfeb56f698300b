// Tables of kernels, one per instruction set, for the rooms whose vector code stands in a folder "isa":
// each set has a function make_table in the namespace that bears its name.
#pragma once

#include "base/isa.h"

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): namespaces have no other way to be repeated
#define STOKER_ISA_TABLES(Table) \
  namespace generic {            \
  Table make_table();            \
  }                              \
  namespace avx2 {               \
  Table make_table();            \
  }                              \
  namespace avx512 {             \
  Table make_table();            \
  }

namespace stoker {

// The table of a set. It is made only when it is asked for: the code that fills it uses the set's
// instructions too.
template <auto generic, auto avx2, auto avx512>
const auto& isa_table(Isa isa) {
  if (isa == Isa::avx512) {
    static const auto table = avx512();
    return table;
  }
  if (isa == Isa::avx2) {
    static const auto table = avx2();
    return table;
  }
  static const auto table = generic();
  return table;
}

}  // namespace stoker
