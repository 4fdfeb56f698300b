#!/usr/bin/env bash
# Builds what the demo needs, and only that, then runs it.   scripts/demo.sh PRESET JOBS
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
jobs=${2:-2}

start=$(date +%s)
make --no-print-directory configure PRESET="$preset"
cmake --build --preset "$preset" --parallel "$jobs" --target example_demo
printf '\nBuilt in %d s. The demo:\n\n' $(($(date +%s) - start))
exec "build/$preset/bin/example_demo"
