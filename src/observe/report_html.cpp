// The report as one page that needs no other file and no network: page/page.html with its style,
// its scripts and the JSON put in where it refers to them.
#include "observe/report_html.h"

#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "formats/json.h"
#include "observe/page/page_file.h"
#include "observe/report_json.h"

namespace stoker::doctor {

namespace {

// A script element ends at the first "</", wherever it stands.
std::string embeddable(std::string json) {
  for (size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3)
    json.replace(at, 2, "<\\/");
  return json;
}

// The reference is one of page.html's own; an assert would not see a typo there, a test does.
void put(std::string& page, std::string_view reference, std::string_view text) {
  size_t at = page.find(reference);
  if (at != std::string::npos) page.replace(at, reference.size(), text);
}

}  // namespace

std::string page_of(const nlohmann::json& data) {
  std::string page(page_file("page.html"));
  put(page, R"(<link rel="stylesheet" href="style.css">)",
      fmt::format("<style>\n{}</style>", page_file("style.css")));
  for (std::string_view script : {"draw.js", "report.js"})
    put(page, fmt::format(R"(<script src="{}"></script>)", script),
        fmt::format("<script>\n{}</script>", page_file(script)));
  constexpr std::string_view kData = R"(<script type="application/json" id="data">)";
  put(page, kData, fmt::format("{}{}", kData, embeddable(dump_report(data))));
  return page;
}

std::string Diagnosis::html() const { return page_of(diagnosis_json(*this)); }

}  // namespace stoker::doctor
