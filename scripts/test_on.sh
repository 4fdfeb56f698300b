#!/usr/bin/env bash
# Builds and tests this tree on another Debian, in a system of its own that debootstrap makes once.
#   scripts/test_on.sh SYSTEM [TARGET...]     SYSTEM: debian12, debian13; TARGETs: these only, and no tests (test_engine)
#   CXX=clang++-19    another compiler of that system      STOKER_SYSTEMS=DIR    where systems lie (~/.cache/stoker/systems)
#   JOBS=1    processes of the build (as many as processors) and of the tests (2)
#   OPTIONS="-DSTOKER_EXAMPLES=OFF"    added to the options of CMake; the default is all of the preset ci
# As root, since it enters the system with chroot. The package mirror is the one that this machine's apt uses.
set -euo pipefail
cd "$(dirname "$0")/.."

system=${1:?usage: scripts/test_on.sh debian12|debian13 [TARGET...]}
shift
case $system in
  debian12) release=bookworm ;;
  debian13) release=trixie ;;
  *) echo "test-on: no system is named \"$system\"; there are debian12 and debian13"; exit 2 ;;
esac
[ "$(id -u)" = 0 ] || { echo "test-on: must run as root: it enters another system with chroot"; exit 77; }
compiler=${CXX:-g++}
root=${STOKER_SYSTEMS:-$HOME/.cache/stoker/systems}/$system

# A system counts as made when debootstrap ended well.
make_system() {
  [ ! -e "$root/.made" ] || return 0
  command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap </dev/null
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | sort -u | head -n 1)
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror"
  touch "$root/.made"
}

mounted=()
leave() { for place in "${mounted[@]}"; do umount -l "$place"; done; }
enter() {
  for place in proc dev dev/shm sys; do
    mount --bind "/$place" "$root/$place"
    mounted=("$root/$place" "${mounted[@]}")
  done
  trap leave EXIT
  cp /etc/resolv.conf "$root/etc/resolv.conf"
}
inside() { chroot "$root" env HOME=/root LC_ALL=C.UTF-8 CXX="$compiler" "$@"; }

# The tree as it is now: a file that was deleted here must not be found by the build there. Builds and the compiler cache stay.
copy_tree() {
  mkdir -p "$root/stoker"
  find "$root/stoker" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -z --cached --others --exclude-standard | tar --null -cf - -T - --ignore-failed-read | tar -xf - -C "$root" --one-top-level=stoker
}

make_system
enter
copy_tree
inside sh -c 'cd /stoker && scripts/setup.sh build'
case $compiler in
  clang++-*) inside apt-get install -y --no-install-recommends "${compiler/++/}" </dev/null ;;
  g++-*) inside apt-get install -y --no-install-recommends "$compiler" </dev/null ;;
esac
build=build/$compiler
inside sh -c "cd /stoker && cmake --preset ci -B $build ${OPTIONS:-}"
inside sh -c "cd /stoker && cmake --build $build --parallel ${JOBS:-$(nproc)} ${*:+--target $*} -- -k 0"
[ $# -gt 0 ] || inside sh -c "cd /stoker && OMP_WAIT_POLICY=passive ctest --test-dir $build --output-on-failure --parallel ${JOBS:-2}"
