#!/usr/bin/env bash
# Builds every fuzz target with clang, libFuzzer and the sanitizers, and runs one after the other.
#   FUZZ_SECONDS=60   for each; 0: only builds      FUZZ_ONLY="idx gzip"   these only      FUZZ_BUILD=build/fuzz      JOBS=2
#   FUZZ_BUILT=1      takes the programs and seeds as they lie
# Inputs that find new ways are kept in FUZZ_BUILD/corpus and used by the next run. Stops with the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}
build=${FUZZ_BUILD:-build/fuzz}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Only those that are wanted: one of them needs the whole library.
build_fuzzers() {
  command -v clang++ >/dev/null || { echo "fuzz: clang++ is not installed (scripts/setup.sh fuzz)"; exit 1; }
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++ -DSTOKER_FUZZ=ON \
    -DSTOKER_UNITY=ON -DSTOKER_BENCH=OFF -DSTOKER_EXAMPLES=OFF -DSTOKER_SANITIZE=fuzzer-no-link,address,undefined >"$log" 2>&1 || { cat "$log"; exit 1; }
  cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target fuzz_seeds "${names[@]/#/fuzz_}"
  "$build/bin/fuzz_seeds" "$build/seeds"
}

names=()
for source in tests/fuzz/fuzz_*.cpp; do
  name=$(basename "$source" .cpp)
  name=${name#fuzz_}
  [[ -z ${FUZZ_ONLY:-} || " $FUZZ_ONLY " == *" $name "* ]] && names+=("$name")
done
[ "${#names[@]}" -gt 0 ] || { echo "fuzz: no target is named \"${FUZZ_ONLY:-}\""; exit 1; }
[ "${FUZZ_BUILT:-0}" = 1 ] || build_fuzzers
[ "$seconds" != 0 ] || exit 0
build=$(cd "$build" && pwd)

# Memory: a parser that takes more than half a gigabyte for a small input has believed what it read.
options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -max_len=16384 -print_final_stats=1)

run() {
  local name=$1 folder
  local kept=$build/corpus/$name found=$build/findings/$name
  mkdir -p "$kept" "$found"
  local folders=("$kept")
  for folder in "$build/seeds/$name" "tests/fuzz/corpus/$name" "tests/fuzz/regressions/$name"; do
    [ ! -d "$folder" ] || folders+=("$folder")
  done
  if ! "$build/bin/fuzz_$name" "${options[@]}" -artifact_prefix="$found/" "${folders[@]}" >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "fuzz: $name FAILED; the input is in $found (keep it in tests/fuzz/regressions/$name)"
    return 1
  fi
  awk -v name="$name" '/number_of_executed_units/ { runs = $2 } /DONE|INITED/ { for (i = 1; i < NF; ++i) if ($i == "cov:") cov = $(i + 1) }
    END { if (!runs) { print "fuzz: " name " ran nothing"; exit 1 }
          printf "fuzz: %-16s %10d runs, %6d edges, nothing found\n", name, runs, cov }' "$log"
}

for name in "${names[@]}"; do
  run "$name"
done
