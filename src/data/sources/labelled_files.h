// Whole files with a label each: what image_folder and text_folder share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/dataset.h>

#include "base/file.h"

namespace stoker::data {

struct LabelledFile {
  std::string path;
  int64_t label;
};

struct LabelledFiles {
  std::string kind;   // "image_folder"
  std::string what;   // "images"
  std::string path;   // of the folder
  std::string extra;  // for its details; empty: none
  std::vector<std::string> classes;
  std::vector<LabelledFile> files;
};
// Elements (bytes[] contents, int64[] label).
Dataset labelled_files(LabelledFiles files, FileSystem& system);

// The folders in a folder, sorted, without hidden ones.
std::vector<std::string> folders_of(const std::string& path, FileSystem& files);
// Whether a name ends with one of them, upper or lower case.
bool has_extension(const std::string& name, const std::vector<std::string>& extensions);

}  // namespace stoker::data
