// Tables of functions that are compiled once per instruction set: every room with a folder "isa" declares
// fill_table(Table&, isa::generic), …(isa::avx2) and …(isa::avx512) beside its table and defines them there.
#pragma once

#include "base/isa.h"

namespace stoker {

// The table of one instruction set, which the processor must have. It is made when first asked for: the code that fills
// it uses the set too. Thread-safe.
template <class Table>
const Table& table_of(Isa set) {
  auto made = [](auto tag) -> const Table& {
    static const Table table = [&] {
      Table filled = {};
      fill_table(filled, tag);
      return filled;
    }();
    return table;
  };
  switch (set) {
    case Isa::avx512:
      return made(isa::avx512());
    case Isa::avx2:
      return made(isa::avx2());
    case Isa::generic:
      break;
  }
  return made(isa::generic());
}

}  // namespace stoker
