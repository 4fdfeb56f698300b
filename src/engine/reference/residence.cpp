#include "engine/reference/residence.h"

namespace stoker::reference {

std::shared_ptr<ArrayResidence> take(Variable variable, Rounding rounding) {
  auto here = std::dynamic_pointer_cast<ArrayResidence>(variable.residence());
  if (here != nullptr && here->rounding() == rounding) return here;
  here = std::make_shared<ArrayResidence>(variable.read(), rounding);
  variable.move_to(here);
  return here;
}

}  // namespace stoker::reference
