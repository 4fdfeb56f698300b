#!/usr/bin/env bash
# Builds every fuzz target with clang, libFuzzer and the sanitizers, and runs one after the other.
#   FUZZ_SECONDS=60   for each      FUZZ_ONLY="idx gzip"   these only      FUZZ_BUILD=build/fuzz      JOBS=2
# Inputs that find new ways are kept in FUZZ_BUILD/corpus and used by the next run. Stops with the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}
build=${FUZZ_BUILD:-build/fuzz}

command -v clang++ >/dev/null || { echo "fuzz: clang++ is not installed (scripts/setup.sh fuzz)"; exit 1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++ -DSTOKER_FUZZ=ON \
  -DSTOKER_BENCH=OFF -DSTOKER_EXAMPLES=OFF -DSTOKER_SANITIZE=fuzzer-no-link,address,undefined >"$log" 2>&1 || { cat "$log"; exit 1; }
cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target fuzzers

build=$(cd "$build" && pwd)
"$build/bin/fuzz_seeds" "$build/seeds"
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

ran=0
for source in tests/fuzz/fuzz_*.cpp; do
  name=$(basename "$source" .cpp)
  name=${name#fuzz_}
  [[ -z ${FUZZ_ONLY:-} || " $FUZZ_ONLY " == *" $name "* ]] || continue
  run "$name"
  ran=$((ran + 1))
done
[ "$ran" -gt 0 ] || { echo "fuzz: no target is named \"${FUZZ_ONLY:-}\""; exit 1; }
