#!/usr/bin/env bash
# clang-tidy on what changed: against BASE, else against the point where this branch left main, else (on main itself) in the
# last commit; uncommitted changes count.      scripts/check_tidy.sh BUILD_DIR [BASE]      Exit 77: cannot run here.
#   TIDY_MAX=25   at most so many files, spread over the change      TIDY_JOBS=2
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
base=${2:-}
max=${TIDY_MAX:-25}
jobs=${TIDY_JOBS:-2}

command -v clang-tidy >/dev/null || { echo "tidy: skipped, clang-tidy is not installed"; exit 77; }
git rev-parse --verify -q HEAD >/dev/null 2>&1 || { echo "tidy: skipped, no git history"; exit 77; }
[ -f "$build/compile_commands.json" ] || { echo "tidy: $build is not configured"; exit 1; }
build=$(cd "$build" && pwd)

find_base() {
  local main merge
  for main in origin/main main; do
    merge=$(git merge-base HEAD "$main" 2>/dev/null) || continue
    [ "$merge" = "$(git rev-parse HEAD)" ] || { echo "$merge"; return; }
  done
  # On main, or in a shallow clone: the last commit; for the very first one, everything.
  git rev-parse --verify -q HEAD~1 || git hash-object -t tree /dev/null
}
[ -n "$base" ] || base=$(find_base)

# A changed header is seen through the .cpp files; a file that no target compiles here (another platform's) is left out.
changed=$(git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' 'apps/*.cpp' 'examples/*.cpp' 'bench/*.cpp' ':!bench/step/torch' |
  while read -r file; do
    grep -qF "/$file\"" "$build/compile_commands.json" && printf '%s\n' "$file" || true
  done)
[ -n "$changed" ] || { echo "tidy: no changed source since ${base:0:10}"; exit 0; }
total=$(wc -l <<<"$changed")
files=$(awk -v total="$total" -v max="$max" 'total <= max || int(NR * max / total) > int((NR - 1) * max / total)' <<<"$changed")
echo "tidy: $(wc -l <<<"$files") of $total files changed since ${base:0:10}"

# GCC's own omp.h, less the one attribute that clang does not know, and without GCC's other built-in headers.
extra="$build/tidy_include"
mkdir -p "$extra"
omp=$(g++ -print-file-name=include/omp.h)
[ ! -f "$omp" ] || sed 's/__malloc__ (omp_free)/__malloc__/' "$omp" >"$extra/omp.h"

# An option of GCC alone, which clang takes for an error.
sed 's/ -fno-tree-sink//' "$build/compile_commands.json" >"$extra/compile_commands.json"

xargs -P "$jobs" -n 1 clang-tidy -p "$extra" --quiet --extra-arg="-isystem$extra" \
  --extra-arg=-Wno-unknown-warning-option <<<"$files" 2> >(grep -v 'warnings\? generated\|Suppressed\|Use -header-filter' >&2 || true)
