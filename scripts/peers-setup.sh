#!/usr/bin/env bash
# Makes the environment of the peers, outside the tree, with what can be had; a peer that cannot is reported by `make peers`
# as missing, with the reason. Does nothing when all are there.
#   scripts/peers-setup.sh [tests]     tests: only what the tests need (ONNX Runtime, TensorBoard, safetensors, tokenizers, TensorFlow),
#                                      exit status 1 where that cannot be had
#   STOKER_PEERS_VENV   where it is (default: ~/.cache/stoker/peers)
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${STOKER_PEERS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/stoker/peers}
python=$venv/bin/python
log=${XDG_CACHE_HOME:-$HOME/.cache}/stoker/peers-setup.log
mkdir -p "$(dirname "$log")"

say() { printf 'peers-setup: %s\n' "$*"; }
has_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }
imports() { TF_CPP_MIN_LOG_LEVEL=3 "$python" -c "import $1" >>"$log" 2>&1; }
installed() { "$python" -c "import importlib.metadata as m; m.version('$1')" 2>/dev/null; }

debian() { # debian PACKAGE...: installs those that are missing; false when that is not possible
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return 0
  command -v apt-get >/dev/null || return 1
  say "installing ${missing[*]}"
  local root=()
  [ "$(id -u)" = 0 ] || root=(sudo -n)
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" \
    </dev/null >>"$log" 2>&1 && return 0
  "${root[@]}" apt-get update </dev/null >>"$log" 2>&1 &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" \
      </dev/null >>"$log" 2>&1
}

pip() { "$python" -m pip --disable-pip-version-check --no-input "$@" </dev/null >>"$log" 2>&1; }

package() { # package DISTRIBUTION [more to install]: only when it is not there
  installed "$1" && return 0
  say "installing $*"
  pip install "$@" || say "could not install $1: $(grep -i error "$log" | tail -n 1)"
}

# PyTorch comes with GPU packages of several gigabytes. Without a GPU: the wheel alone, and stubs for what it is linked with.
torch() {
  imports torch && return 0
  if has_gpu; then
    say "installing torch torchvision"
    pip install torch torchvision
    return
  fi
  say "installing torch torchvision, without their GPU packages"
  pip install --no-deps torch torchvision || return 1
  pip install filelock typing-extensions 'setuptools>=77' sympy networkx jinja2 fsspec numpy pillow || return 1
  local site
  site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  python3 bench/peers/stub_gpu_libraries.py "$site/torch" "$site/torchvision" >>"$log" 2>&1 || return 1
  imports torch
}

if [ ! -x "$python" ]; then
  say "making $venv"
  python3 -m venv "$venv" >>"$log" 2>&1 || { debian python3-venv && python3 -m venv "$venv"; } ||
    { say "no virtual environment can be made: see $log"; [ "${1:-}" != tests ]; exit; }
fi
if ! imports keras; then
  if has_gpu; then package tensorflow 'tensorflow[and-cuda]'; else package tensorflow-cpu; fi
fi
package tensorboard
package xprof xprof==2.24.2 tensorboard-plugin-profile==2.24.2 # the Profile page of TensorBoard
package onnx
package onnxruntime
package safetensors
package tokenizers
if [ "${1:-}" = tests ]; then
  for module in tensorflow tensorboard xprof onnx onnxruntime safetensors tokenizers ml_dtypes; do
    imports "$module" || { say "$module cannot be had: see $log"; exit 1; }
  done
  say "ready for the tests: $venv"
  exit 0
fi
package pillow
package grain
package pandas
if ! torch; then
  say "PyPI's torch does not run here: $(grep -E 'Error' "$log" | tail -n 1)"
  pip uninstall -y torch torchvision || true
fi
# OpenBLAS: without it Debian's PyTorch multiplies matrices with the reference BLAS, 30 times slower.
debian python3-torch python3-torchvision libtorch-dev libopenblas0-openmp libjpeg-dev ||
  say "optional: without Debian's packages the older PyTorch and libtorch are missing"
say "ready: $venv"
