#include "jobs/data_names.h"

#include <algorithm>

#include <stoker/error.h>

#include "base/file.h"
#include "base/printable.h"
#include "formats/json.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

std::string classes_file(const std::string& folder) { return folder + "/classes.json"; }
std::string columns_file(const std::string& folder) { return folder + "/columns.json"; }

// Names of folders and texts of tables may be no UTF-8.
std::string shown(const std::string& name) { return is_utf8(name) ? name : printable(name); }

json list_of(const std::vector<std::string>& names) {
  json list = json::array();
  for (const std::string& name : names) list.push_back(shown(name));
  return list;
}

bool is_list_of_texts(const json& list) {
  return list.is_array() &&
         std::ranges::all_of(list, [](const json& each) { return each.is_string(); });
}

json read_if_there(const std::string& path) {
  return local_files().exists(path) ? try_parse_json(read_text(path)) : json();
}

std::vector<std::string> read_classes(const std::string& path) {
  json names = read_if_there(path);
  if (names.is_null()) return {};
  if (!is_list_of_texts(names)) throw FileError(path + ": expected a list of class names");
  return names.get<std::vector<std::string>>();
}

std::vector<TableColumn> read_columns(const std::string& path) {
  json list = read_if_there(path);
  if (list.is_null()) return {};
  auto fits = [](const json& column) {
    return column.is_object() && column.contains("name") && column["name"].is_string() &&
           (!column.contains("categories") || is_list_of_texts(column["categories"]));
  };
  if (!list.is_array() || !std::ranges::all_of(list, fits))
    throw FileError(path + ": expected a list of columns, each {\"name\": …, \"categories\": […]}");
  std::vector<TableColumn> columns;
  for (const json& column : list) {
    columns.push_back({.name = column["name"]});
    if (column.contains("categories"))
      columns.back().categories = column["categories"].get<std::vector<std::string>>();
  }
  return columns;
}

}  // namespace

std::string DataNames::class_of(int64_t label) const {
  return size_t(label) < classes.size() ? classes[size_t(label)] : std::to_string(label);
}

void write_names(const std::string& folder, const DataNames& names) {
  if (!names.classes.empty())
    write_file_atomically(classes_file(folder), dump_json(list_of(names.classes), 2) + "\n");
  if (names.columns.empty()) return;
  json list = json::array();
  for (const TableColumn& column : names.columns) {
    list.push_back({{"name", shown(column.name)}});
    if (!column.categories.empty()) list.back()["categories"] = list_of(column.categories);
  }
  write_file_atomically(columns_file(folder), dump_json(list, 2) + "\n");
}

DataNames read_names(const std::string& folder) {
  return {.classes = read_classes(classes_file(folder)),
          .columns = read_columns(columns_file(folder))};
}

}  // namespace stoker::jobs
