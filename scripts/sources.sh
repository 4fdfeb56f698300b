#!/usr/bin/env bash
# Lists our C++ files: tracked and new ones, not ignored ones. Without git (a source archive): all there are.
set -euo pipefail
cd "$(dirname "$0")/.."
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' '*.cu' '*.cuh' | sort -u |
    while read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done
else
  find include src apps tests bench examples -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort
fi
