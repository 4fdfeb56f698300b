#!/usr/bin/env python3
"""run_keras_programs.py [NAME...]: runs the programs of tests/keras_programs with the Keras of the peers' environment.

    scripts/peers-setup.sh tests && ~/.cache/stoker/peers/bin/python scripts/run_keras_programs.py --json FILE

One line per program; exit status 1 where one fails. Files that they write go to a temporary folder. Drawings of models are
left out where Graphviz is missing. --json FILE writes versions, lines of code here and in Keras, and how long each ran.
"""
import contextlib
import io
import json
import os
import pathlib
import runpy
import sys
import tempfile
import time
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_examples  # noqa: E402


def run(path, keras):
    """How long it took, or what went wrong."""
    keras.utils.clear_session()
    begin = time.time()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(path))
    except Exception:
        return None, traceback.format_exc().strip().splitlines()[-1]
    return time.time() - begin, ""


def main():
    import keras
    import tensorflow as tf

    try:
        import pydot  # noqa: F401
    except ImportError:
        keras.utils.plot_model = lambda *args, **kwargs: None
    words = sys.argv[1:]
    target = words.pop(words.index("--json") + 1) if "--json" in words else None
    names = [word for word in words if word != "--json"]
    target = target and pathlib.Path(target).resolve()
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for path in sorted(check_examples.TWINS.glob("*.py")):
            if names and path.stem not in names:
                continue
            seconds, problem = run(path, keras)
            failed += bool(problem)
            print(f"{path.stem}: {problem or f'{seconds:.1f} s'}", flush=True)
            ours = check_examples.Program(check_examples.ROOT / f"examples/from_keras/{path.stem}.cpp")
            rows.append({"program": path.stem, "lines": ours.lines, "keras_lines": ours.measured,
                         "ratio": round(ours.ratio(), 3), "runs": not problem})
        os.chdir("/")
    if target:
        versions = {"keras": keras.__version__, "tensorflow": tf.__version__}
        target.write_text(json.dumps({"versions": versions, "programs": rows}, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
