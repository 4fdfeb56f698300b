// Sources that read files, over a file system that tests can make fail.
#pragma once

#include <stoker/csv.h>
#include <stoker/svmlight.h>
#include <stoker/text.h>

#include "base/file.h"

namespace stoker::data {

// Paths below that match, sorted. `*`, `?` and `[…]` match within a name, `**` any folders.
std::vector<std::string> glob(const std::string& pattern, FileSystem& files);

// Paths as they are, patterns as what matches them. FileError for one that nothing matches; ValueError,
// opened by `op`, for none at all.
std::vector<std::string> matching_files(const std::string& op,
                                        const std::vector<std::string>& paths, FileSystem& files);

// All of a file, into memory that is used again.
void read_whole(const std::string& path, std::string& out, FileSystem& files);

FunctionRef read_file(FileSystem& files);
Dataset image_folder(const std::string& path, const ImageFolderOptions& options, FileSystem& files);
Dataset tfrecord(const std::vector<std::string>& paths, const TfRecordOptions& options,
                 FileSystem& files);
Dataset text_lines(const std::vector<std::string>& paths, const TextLinesOptions& options,
                   FileSystem& files);
Dataset text_folder(const std::string& path, const TextFolderOptions& options, FileSystem& files);
Dataset idx(const std::vector<std::string>& paths, FileSystem& files);
Dataset csv(const std::vector<std::string>& paths, const CsvOptions& options, FileSystem& files);
Dataset svmlight(const std::vector<std::string>& paths, const SvmlightOptions& options,
                 FileSystem& files);

}  // namespace stoker::data
