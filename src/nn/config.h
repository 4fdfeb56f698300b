// Layer configurations as Attrs. Attrs are flat: an initialiser's own values stand beside its name
// as "kernel_initializer.stddev". Readers take a fallback for what is absent (a file of an older
// version) and accept an integer where a file wrote a whole number for a double.
#pragma once

#include <string_view>

#include <stoker/layers.h>

namespace stoker::config {

void put(Attrs& attrs, std::string_view name, const Initializer& initializer);
void put(Attrs& attrs, std::string_view name, const Regularizer& regularizer);  // nothing if none
void put(Attrs& attrs, std::string_view name, Size2 size);
void put(Attrs& attrs, std::string_view name, const Edges2& edges);
// All entries of `inner` under "prefix.", and back.
void put_nested(Attrs& attrs, std::string_view prefix, const Attrs& inner);
Attrs nested(const Attrs& attrs, std::string_view prefix);

Initializer initializer(const Attrs& attrs, std::string_view name, const Initializer& fallback);
Regularizer regularizer(const Attrs& attrs, std::string_view name);
ActivationFunction activation(const Attrs& attrs);
Size2 size(const Attrs& attrs, std::string_view name, Size2 fallback);
Edges2 edges(const Attrs& attrs, std::string_view name, const Edges2& fallback);
double number(const Attrs& attrs, std::string_view name, double fallback);
Doubles numbers(const Attrs& attrs, std::string_view name);
std::string text(const Attrs& attrs, std::string_view name, const std::string& fallback = "");
int64_t integer(const Attrs& attrs, std::string_view name);  // must be there
Ints integers(const Attrs& attrs, std::string_view name);

}  // namespace stoker::config
