// Guards what one thread at a time may use: a second one gets an Error instead of a wrong result.
#pragma once

#include <atomic>
#include <string>

#include <stoker/error.h>

namespace stoker {

class OneThread {
 public:
  // Marks a use while it lives; Error, saying `what`, while another use lasts.
  class Scope {
   public:
    Scope(OneThread& guard, const char* what) : guard_(guard) {
      if (guard_.busy_.test_and_set(std::memory_order_acquire))
        throw Error(std::string(what) +
                    ": in use by a call that has not ended; one thread at a time "
                    "may call it, others need one of their own");
    }
    ~Scope() { guard_.busy_.clear(std::memory_order_release); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    OneThread& guard_;
  };

 private:
  std::atomic_flag busy_ = {};
};

}  // namespace stoker
