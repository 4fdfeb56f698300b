#!/usr/bin/env bash
# Builds the stoker program, and only that, then runs its demo.   scripts/demo.sh PRESET JOBS
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
jobs=${2:-2}

start=$(date +%s)
make --no-print-directory configure PRESET="$preset"
cmake --build --preset "$preset" --parallel "$jobs" --target stoker_app
printf '\nBuilt in %d s.\n\n' $(($(date +%s) - start))
exec "build/$preset/bin/stoker" demo --out "build/demo"
