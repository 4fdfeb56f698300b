// Whole files with a label each: what image_folder and text_folder share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/text.h>

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

// Which part of the files is meant. Which files are for validation is drawn by the seed.
struct Split {
  double validation_split = 0;
  Subset subset = Subset::all;
  uint64_t seed = 0;
};

// What to look for in a folder per class.
struct LabelledFolder {
  std::string kind;  // "text_folder", for errors too
  std::string what;  // "texts"
  std::vector<std::string> extensions;
  std::vector<std::string> class_names = {};  // none: the folder names, sorted
  Split split = {};
};
// The files of all classes, subfolders included, sorted; those of the split's subset. FileError when
// there are none, ValueError for a split that is none.
Dataset labelled_folder(const LabelledFolder& folder, const std::string& path, FileSystem& files);

// The folders in a folder, sorted, without hidden ones.
std::vector<std::string> folders_of(const std::string& path, FileSystem& files);
// Whether a name ends with one of them, upper or lower case.
bool has_extension(const std::string& name, const std::vector<std::string>& extensions);

}  // namespace stoker::data
