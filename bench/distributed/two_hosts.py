#!/usr/bin/env python3
"""Data-parallel steps between two "hosts", side by side with PyTorch DDP on gloo.

    bench/distributed/two_hosts.py --stoker build/release/bin/stoker --python PYTHON [--out FILE]

A host is a network namespace with half of the cores; a pair of virtual Ethernet devices joins the two, at 1 Gbit/s,
10 Gbit/s (tbf) or as fast as the kernel is. Both systems train resnet18 and mobilenet in float32 with the same global
batch, one process per host, float32 on the wire. Blocks of the two alternate, so that a machine that is busy with other
things slows both down; the figure is the ratio of medians. Writes one JSON object with its command, its date and every block.

Needs the right to make network namespaces (root); without it says so and ends with status 77.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
HOSTS = (f"stoker-{os.getpid()}-a", f"stoker-{os.getpid()}-b")  # runs side by side do not meet
ADDRESSES = ("10.77.0.1", "10.77.0.2")
RATES = {"100mbit": "100mbit", "1gbit": "1gbit", "10gbit": "10gbit", "open": None}
SKIPPED = 77


def run(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True)


def may_make_namespaces():
    if os.geteuid() != 0:
        return "not root"
    made = run("ip", "netns", "add", f"stoker-{os.getpid()}-try", check=False)
    if made.returncode != 0:
        return made.stderr.strip()
    run("ip", "netns", "delete", f"stoker-{os.getpid()}-try")
    return ""


@contextlib.contextmanager
def two_hosts():
    """Two namespaces and the wire between them; gone afterwards, whatever happened."""
    try:
        for host in HOSTS:
            run("ip", "netns", "add", host)
            run("ip", "-n", host, "link", "set", "lo", "up")
        run("ip", "link", "add", "veth-a", "netns", HOSTS[0], "type", "veth", "peer", "name", "veth-b", "netns", HOSTS[1])
        for host, device, address in zip(HOSTS, ("veth-a", "veth-b"), ADDRESSES):
            run("ip", "-n", host, "address", "add", f"{address}/24", "dev", device)
            run("ip", "-n", host, "link", "set", device, "up")
        yield
    finally:
        for host in HOSTS:
            run("ip", "netns", "delete", host, check=False)


def set_rate(rate):
    for host, device in zip(HOSTS, ("veth-a", "veth-b")):
        words = ["ip", "netns", "exec", host, "tc", "qdisc"]
        run(*words, "delete", "dev", device, "root", check=False)
        if rate:
            run(*words, "add", "dev", device, "root", "tbf", "rate", rate, "burst", "1mb", "latency", "50ms")


def on_host(number, command, cores):
    """The command in a namespace, on its share of the cores, under the host's own name."""
    inside = f"hostname {HOSTS[number]}; exec taskset -c {cores[number]} {command}"
    return ["ip", "netns", "exec", HOSTS[number], "unshare", "--uts", "sh", "-c", inside]


def agent_of(folder, cores):
    """What mpirun calls instead of ssh: "agent ADDRESS COMMAND…"."""
    path = pathlib.Path(folder) / "agent"
    lines = ["#!/bin/sh", "address=$1; shift", "case $address in"]
    for number, address in enumerate(ADDRESSES):
        inside = f'hostname {HOSTS[number]}; exec taskset -c {cores[number]} sh -c "$1"'
        lines.append(f"{address}) exec ip netns exec {HOSTS[number]} unshare --uts sh -c '{inside}' sh \"$*\" ;;")
    path.write_text("\n".join(lines + ["esac", 'echo "unknown host $address" >&2; exit 1', ""]))
    path.chmod(0o755)
    return path


def stoker_block(options, model, cores, folder):
    result = pathlib.Path(folder) / "stoker.json"
    threads = len(cores[0].split(","))
    command = (
        f"mpirun --allow-run-as-root --bind-to none --oversubscribe -np 2 -H {ADDRESSES[0]}:1,{ADDRESSES[1]}:1 "
        f"--mca plm_rsh_agent {agent_of(folder, cores)} --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 "
        f"--mca oob_tcp_if_include 10.77.0.0/24 "
        f"{shlex.quote(options.stoker)} bench scaling --model {model} --batch {options.batch} "
        f"--image-size {options.size} --classes 1000 --optimizer sgd --steps {options.steps} "
        f"--threads {threads} --json {result}")
    try:
        done = subprocess.run(on_host(0, command, cores), capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"stoker did not end within {options.timeout} s")
    if done.returncode != 0:
        raise SystemExit(f"stoker failed:\n{done.stdout}\n{done.stderr}")
    return json.loads(result.read_text())


def torch_block(options, model, cores):
    processes = []
    for rank in range(2):
        device = ("veth-a", "veth-b")[rank]
        command = (f"env GLOO_SOCKET_IFNAME={device} MASTER_ADDR={ADDRESSES[0]} MASTER_PORT=29511 RANK={rank} WORLD_SIZE=2 "
                   f"{shlex.quote(options.python)} {HERE / 'ddp_worker.py'} {model} {options.batch} {options.size} "
                   f"{options.steps} {len(cores[rank].split(','))}")
        processes.append(subprocess.Popen(on_host(rank, command, cores), stdout=subprocess.PIPE, text=True))
    wait_for_all(processes, options.timeout)
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode != 0 for process in processes):
        raise SystemExit(f"PyTorch failed: {outputs}")
    return json.loads(outputs[0].splitlines()[-1])


def wait_for_all(processes, seconds):
    """Until all have ended; one that fails, or the deadline, ends the others."""
    until = time.monotonic() + seconds
    while any(process.poll() is None for process in processes):
        if time.monotonic() > until or any(process.poll() for process in processes):
            for process in processes:
                process.kill()
            return
        time.sleep(0.1)


def compare(options, model, rate, cores, folder):
    set_rate(RATES[rate])
    blocks = []
    for number in range(options.blocks):
        load = os.getloadavg()[0]
        run_stoker = lambda: stoker_block(options, model, cores, folder)  # noqa: E731
        run_torch = lambda: torch_block(options, model, cores)  # noqa: E731
        if number % 2 == 0:
            stoker, torch = run_stoker(), run_torch()
        else:
            torch, stoker = run_torch(), run_stoker()
        blocks.append({"load_before": load, "stoker": stoker, "torch": torch})

    def median(system, field):
        return statistics.median(block[system][field] for block in blocks)

    row = {"model": model, "rate": rate, "stoker_ms": median("stoker", "ms_per_step"), "torch_ms": median("torch", "ms_per_step"),
           "stoker_cpu_ms": median("stoker", "cpu_ms_per_step"), "torch_cpu_ms": median("torch", "cpu_ms_per_step"),
           "computing_ms": median("stoker", "computing_ms"), "sums_ms": median("stoker", "sums_ms")}
    row["ratio"] = row["torch_ms"] / row["stoker_ms"]
    row["cpu_ratio"] = row["torch_cpu_ms"] / row["stoker_cpu_ms"]
    row["shown"] = max(0.0, row["stoker_ms"] - row["computing_ms"]) / row["sums_ms"]
    print(f"{model:10} {rate:7} Stoker {row['stoker_ms']:7.1f} ms, PyTorch DDP {row['torch_ms']:7.1f} ms: "
          f"{row['ratio']:.2f} times as fast; CPU time {row['cpu_ratio']:.2f} times less; "
          f"sums {row['sums_ms']:.1f} ms, {100 * row['shown']:.0f} % shown", flush=True)
    return {**row, "blocks": blocks}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--models", default="resnet18,mobilenet")
    parser.add_argument("--rates", default="1gbit,10gbit,open")
    parser.add_argument("--batch", type=int, default=32, help="of both hosts together")
    parser.add_argument("--size", type=int, default=64, help="height and width of the pictures")
    parser.add_argument("--steps", type=int, default=20, help="4 or more")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one block of one system")
    parser.add_argument("--out")
    options = parser.parse_args()
    options.stoker = str(pathlib.Path(options.stoker).resolve())
    if why := may_make_namespaces():
        print(f"skipped: network namespaces are not allowed here: {why}")
        raise SystemExit(SKIPPED)
    available = sorted(os.sched_getaffinity(0))
    half = max(1, len(available) // 2)
    cores = [",".join(map(str, part)) for part in (available[:half], available[half:2 * half] or available[:half])]
    report = {"command": " ".join(map(shlex.quote, [os.path.relpath(__file__)] + sys.argv[1:])),
              "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "cores_of_a_host": len(cores[0].split(",")), "load_before": os.getloadavg()[0], "rows": []}
    out = options.out or f"bench/results/two-hosts-{datetime.date.today()}.json"
    with tempfile.TemporaryDirectory() as folder, two_hosts():
        for model in options.models.split(","):
            for rate in options.rates.split(","):
                report["rows"].append(compare(options, model, rate, cores, folder))
                pathlib.Path(out).write_text(json.dumps(report, indent=1) + "\n")
    print(f"written to {out}")


if __name__ == "__main__":
    main()
