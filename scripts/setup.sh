#!/usr/bin/env bash
# Installs the Debian packages that are missing. Does nothing, and asks nothing, when all are there.
#   scripts/setup.sh [build] [format] [bench] [mpi] [fuzz] [browser]      (default: build)
set -euo pipefail

build=(build-essential cmake ninja-build ccache libdnnl-dev libfmt-dev nlohmann-json3-dev zlib1g-dev libjpeg-dev libpng-dev libcli11-dev libtomlplusplus-dev libgtest-dev libgmock-dev python3)
format=(clang-format clang-tidy)
bench=(libtorch-dev)
browser=(chromium)
mpi=(libopenmpi-dev openmpi-bin)
fuzz=(clang libclang-rt-14-dev)

say() { printf 'setup: %s\n' "$*"; }

# A package counts as there when dpkg has it installed; newer compilers and CMakes from elsewhere count by their command.
is_there() {
  case $1 in
    build-essential) command -v g++ >/dev/null && command -v make >/dev/null && return 0 ;;
    cmake | ccache | python3 | clang-format | clang-tidy) command -v "$1" >/dev/null && return 0 ;;
    ninja-build) command -v ninja >/dev/null && return 0 ;;
  esac
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing_of() {
  local package
  for package in "$@"; do
    is_there "$package" || printf '%s ' "$package"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    return 1
  fi
}

# install PACKAGE...: 0 when they are there afterwards.
install() {
  command -v apt-get >/dev/null || return 1
  as_root apt-get install -y --no-install-recommends "$@" </dev/null && return 0
  # A bare system has no package lists yet, or old ones.
  as_root apt-get update </dev/null && as_root apt-get install -y --no-install-recommends "$@" </dev/null
}

need() {
  local missing
  missing=$(missing_of "$@")
  [ -z "$missing" ] && return 0
  say "installing ${missing% }"
  # shellcheck disable=SC2086
  install $missing && return 0
  say "could not install: ${missing% }"
  return 1
}

status=0
for group in "${@:-build}"; do
  case $group in
    build)
      if ! need "${build[@]}"; then
        say "as root: apt-get install $(missing_of "${build[@]}")"
        status=1
      fi
      ;;
    format) need "${format[@]}" || say "without them nothing is formatted or checked by clang-tidy" ;;
    bench) need "${bench[@]}" || say "optional: the benchmarks run without the libtorch column" ;;
    mpi) need "${mpi[@]}" || say "optional: no training on several processes, and no test of it" ;;
    browser) need "${browser[@]}" || say "optional: the doctor's page is not tested in a browser" ;;
    fuzz) need "${fuzz[@]}" || { say "without them nothing is fuzzed"; status=1; } ;;
    *)
      say "unknown group '$group': build, format, bench, mpi, fuzz, browser"
      status=2
      ;;
  esac
done
exit $status
