#!/usr/bin/env python3
"""Opens a profile as TensorBoard's Profile page does: with the page's own conversion code.

    check_xplane.py DIR    DIR/plugins/profile/TIME/HOST.xplane.pb, and DIR/expected.json with what has to be found:
                           {"ops": ["hidden/matmul", …], "spans": ["map(…)", …], "steps": 5, "device": false}
                           device: a GPU's profile, whose ops are on a plane of their own

Prints what the pages say. Exit code 77 where a package is missing.
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

try:
    from xprof import version
    from xprof.convert import raw_to_tool_data
except ImportError as error:
    print(f"skipped: {error}; scripts/peers-setup.sh installs it")
    sys.exit(77)

PAGES = ["overview_page", "input_pipeline_analyzer", "framework_op_stats", "memory_profile", "op_profile", "roofline_model"]


def page(paths, tool):
    data, kind = raw_to_tool_data.xspace_to_tool_data(paths, tool, {})
    assert kind == "application/json", f"{tool} is {kind}"
    return json.loads(data)


def trace_names(paths):
    """Names of the events of the trace viewer, and of its lanes."""
    events = page(paths, "trace_viewer")["traceEvents"]
    return {e["name"] for e in events if e.get("ph") == "X"}, {e["args"]["name"] for e in events if e.get("name") == "thread_name"}


def op_names(paths):
    table = page(paths, "framework_op_stats")[0]
    column = [c["id"] for c in table["cols"]].index("operation")
    return {row["c"][column]["v"] for row in table["rows"]}


def properties(tables):
    return {key: value for table in tables for key, value in table.get("p", {}).items()}


def main():
    folder = Path(sys.argv[1])
    expected = json.loads((folder / "expected.json").read_text())
    paths = [str(path) for path in folder.glob("plugins/profile/*/*.xplane.pb")]
    assert len(paths) == 1, f"expected one profile, found {paths}"
    tools = raw_to_tool_data.xspace_to_tool_names(paths)
    assert "trace_viewer@" in tools and "overview_page" in tools, tools

    names, lanes = trace_names(paths)
    ops = op_names(paths)
    device = expected.get("device", False)
    for op in expected["ops"]:
        shown = op.split("/")[-1] if device else op + ":"  # the page has lanes of its own for layers and for ops
        assert any(name.startswith(shown) for name in names), f"no {op} in the trace viewer: {sorted(names)}"
        assert op in ops, f"no {op} among the page's ops: {sorted(ops)}"
    for span in expected["spans"]:
        assert span in names, f"no {span} in the trace viewer: {sorted(names)}"
    assert "training" in lanes, lanes
    if device:
        assert "Steps" in lanes, lanes
        for stream in ["(Compute)", "(MemcpyH2D)"]:
            assert any(lane.endswith(stream) for lane in lanes), lanes
    else:
        assert "compute" in lanes, lanes

    for tool in PAGES:
        page(paths, tool)
    overview = properties(page(paths, "overview_page"))
    steps = page(paths, "input_pipeline_analyzer")
    counted = max(len(table.get("rows", [])) for table in steps)
    assert counted >= expected["steps"], f"{counted} steps, expected {expected['steps']}"
    assert float(overview["steptime_ms_average"]) > 0, overview
    if device:
        assert overview["hardware_type"] == "GPU", overview
        assert float(overview["device_compute_time_ms_avg"]) > 0, overview
    print(f"xprof {version.__version__}: {len(names)} names, {len(ops)} ops, {counted} steps of {overview['steptime_ms_average']} ms")
    print(f"it says: {overview['statement']}")


if __name__ == "__main__":
    main()
