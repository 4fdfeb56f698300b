#!/usr/bin/env bash
# Runs every benchmark of a build tree, one after the other; their rows land in BUILD/bench/NAME.json.
#   scripts/bench.sh BUILD [options for each, for example --long]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
shift || true

mkdir -p "$build/bench"
found=0
for program in "$build"/bin/bench_*; do
  [ -x "$program" ] || continue
  found=1
  name=$(basename "$program")
  printf '\n%s\n' "$name"
  "$program" --json "$build/bench/${name#bench_}.json" "$@"
done
[ $found = 1 ] || { echo "no benchmark in $build/bin" >&2; exit 1; }
