// TOML as JSON values.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace stoker::jobs {

// Tables, arrays, text, numbers and truth values; dates become text. ValueError with line and
// column when it is not TOML; Error where Stoker was built without toml++.
nlohmann::json json_of_toml(std::string_view text);

}  // namespace stoker::jobs
