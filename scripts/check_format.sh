#!/usr/bin/env bash
# Fails if a source file is not formatted as .clang-format says; `make format` mends it. Exit 77: clang-format is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null || { echo "format: skipped, clang-format is not installed"; exit 77; }

files=$(scripts/sources.sh)
[ -n "$files" ] || { echo "format: no sources"; exit 0; }
if xargs clang-format --dry-run -Werror --ferror-limit=1 <<<"$files"; then
  echo "format: $(wc -l <<<"$files") files"
else
  echo "format: run 'make format'"
  exit 1
fi
