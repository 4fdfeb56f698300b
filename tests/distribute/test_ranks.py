#!/usr/bin/env python3
"""Ranks of `stoker train` that are killed, stopped and gone on with: test_ranks.py STOKER MPIRUN [TEST…].

Trainings use the deterministic mode, so that an undisturbed run, one that was killed, and one that goes on with another
number of ranks have to end with the same bits. STOKER_TEST_KILLS says how many random moments are tried (default 3),
STOKER_TEST_SEED which ones, and STOKER_TEST_RESULT names a JSON file that gets one row per kill:

    STOKER_TEST_KILLS=10 STOKER_TEST_SEED=1 STOKER_TEST_RESULT=bench/results/rank-kills.json \\
      tests/distribute/test_ranks.py build/release/bin/stoker mpirun Ranks.test_a_killed_rank_ends_the_job_and_it_goes_on
"""
import contextlib
import datetime
import json
import os
import pathlib
import platform
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STOKER, MPIRUN = sys.argv[1:3]
KILLS = int(os.environ.get("STOKER_TEST_KILLS", "3"))
SEED = int(os.environ.get("STOKER_TEST_SEED", random.randrange(10**6)))
RESULT = os.environ.get("STOKER_TEST_RESULT")
SECONDS_TO_END = 15
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMP_WAIT_POLICY": "passive"}


def write_idx(folder, count=96, side=8, classes=4):
    """MNIST's four files; class k is a bright row."""
    folder.mkdir()
    for name, rows in (("train", count), ("t10k", count // 4)):
        pictures, labels = bytearray(), bytearray()
        for i in range(rows):
            label = i % classes
            labels.append(label)
            pictures += bytes(200 if y == label else (i * 7 + y * x) % 50 for y in range(side) for x in range(side))
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">iiii", 2051, rows, side, side) + pictures)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">ii", 2049, rows) + labels)


class Ranks(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        write_idx(self.folder / "data")

    def train(self, out, *more, epochs=6):
        return [STOKER, "train", "--data", f"idx:{self.folder / 'data'}", "--model", "mlp", "--epochs", str(epochs), "--batch", "8",
                "--seed", "3", "--threads", "1", "--pipeline-threads", "1", "--deterministic-shards", "6",
                "--checkpoint-steps", "5", "--out", str(self.folder / out), *more]

    def start(self, ranks, command):
        return subprocess.Popen([MPIRUN, "-n", str(ranks), *command], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def end(self, job, seconds=120):
        try:
            return job.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.communicate()
            self.fail(f"the job did not end within {seconds} s")

    def done(self, ranks, command):
        job = self.start(ranks, command)
        out, err = self.end(job)
        self.assertEqual(job.returncode, 0, out + err)
        return out

    def weights(self, out):
        return json.loads((self.folder / out / "result.json").read_text())["final_weights_sha256"]

    def rank_process(self, job, rank, seconds=30):
        """The process of a rank, once it trains."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and job.poll() is None:
            for entry in pathlib.Path("/proc").iterdir():
                if not entry.name.isdigit():
                    continue
                try:
                    words = (entry / "environ").read_bytes().split(b"\0")
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                except (OSError, IndexError):
                    continue
                if parent == job.pid and f"OMPI_COMM_WORLD_RANK={rank}".encode() in words:
                    return int(entry.name)
            time.sleep(0.02)
        self.fail(f"rank {rank} was not found")

    def wait_for_checkpoint(self, job, out, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until and job.poll() is None:
            if list((self.folder / out / "checkpoints").glob("ckpt-*")):
                return
            time.sleep(0.02)

    def messages(self, err):
        return [line for line in err.splitlines() if line.startswith("stoker: ")]

    def test_only_the_first_rank_shows_and_writes(self):
        one = self.done(1, self.train("one", epochs=2))
        three = self.done(3, self.train("three", epochs=2))
        self.assertEqual(one.count("weights "), 1)
        self.assertEqual(three.count("weights "), 1)
        self.assertEqual(self.weights("one"), self.weights("three"))
        header, *rows = (self.folder / "three" / "history.csv").read_text().splitlines()
        self.assertEqual(len(rows), 2)

    def kill_one(self, out, draw, *more):
        """Starts three ranks and kills one of them at a random moment after the first checkpoint."""
        job = self.start(3, self.train(out, *more, epochs=20))
        self.wait_for_checkpoint(job, out)
        rank, delay = draw.randrange(3), draw.uniform(0, 0.4)
        victim = self.rank_process(job, rank)
        time.sleep(delay)
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        killed = time.monotonic()
        _, err = self.end(job, 60)
        row = {"rank": rank, "delay_s": round(delay, 3), "seconds_to_end": round(time.monotonic() - killed, 2),
               "said": self.messages(err)}
        if job.returncode == 0:  # the training had ended before the kill
            return {**row, "late": True}
        self.assertLess(row["seconds_to_end"], SECONDS_TO_END)
        self.assertEqual(len(row["said"]), 1, f"seed {SEED}: {err}")
        self.assertRegex(row["said"][0], rf"rank {rank} on \S+ died .*(step|epoch)")
        checkpoints = list((self.folder / out / "checkpoints").glob("ckpt-*"))
        self.assertTrue(checkpoints)
        for folder in checkpoints:
            self.assertTrue((folder / "manifest.json").exists(), folder)
        return row

    def test_a_killed_rank_ends_the_job_and_it_goes_on(self):
        self.done(3, self.train("whole", epochs=20))
        expected, draw, rows, tries = self.weights("whole"), random.Random(SEED), [], 0
        while len(rows) < KILLS:
            tries += 1
            self.assertLess(tries, 3 * KILLS + 3, "most trainings ended before they were killed")
            out = f"killed{tries}"
            row = self.kill_one(out, draw)
            if "late" in row:
                continue
            for ranks in (3, 2):
                again = f"{out}-on-{ranks}"
                shutil.copytree(self.folder / out, self.folder / again)
                self.done(ranks, self.train(again, "--resume", "auto", epochs=20))
                self.assertEqual(self.weights(again), expected, f"seed {SEED}, kill {tries}, resumed on {ranks}")
            rows.append({**row, "resumed_on": [3, 2], "same_weights": True})
        self.report(rows, expected)

    def report(self, rows, weights):
        if not RESULT:
            return
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        report = {"what": "SIGKILL of one of three ranks; resumed on three and on two; weights equal the undisturbed run's to the bit",
                  "command": f"STOKER_TEST_KILLS={KILLS} STOKER_TEST_SEED={SEED} STOKER_TEST_RESULT=FILE "
                             "tests/distribute/test_ranks.py STOKER MPIRUN Ranks.test_a_killed_rank_ends_the_job_and_it_goes_on",
                  "date": datetime.date.today().isoformat(), "commit": commit, "machine": platform.machine(),
                  "cores": os.cpu_count(), "load_after": os.getloadavg()[0], "seed": SEED, "weights_sha256": weights,
                  "kills": rows}
        pathlib.Path(RESULT).write_text(json.dumps(report, indent=1) + "\n")

    def test_ranks_that_share_the_optimizers_state_have_the_same_bits_and_files(self):
        self.done(1, self.train("whole", epochs=20))
        self.done(3, self.train("shared", "--shard-optimizer", epochs=20))
        self.assertEqual(self.weights("shared"), self.weights("whole"))
        draw = random.Random(SEED)
        for out, before, after in (("first", ["--shard-optimizer"], []), ("second", [], ["--shard-optimizer"])):
            self.kill_one(out, draw, *before)
            self.done(2, self.train(out, "--resume", "auto", *after, epochs=20))
            self.assertEqual(self.weights(out), self.weights("whole"), f"seed {SEED}, {out}")

    def test_a_stopped_rank_is_named_within_the_deadline(self):
        job = self.start(3, self.train("stopped", "--timeout", "5", epochs=2000))
        self.wait_for_checkpoint(job, "stopped")
        victim = self.rank_process(job, 2)
        os.kill(victim, signal.SIGSTOP)
        stopped = time.monotonic()
        _, err = self.end(job, 60)
        self.assertLess(time.monotonic() - stopped, 25)
        said = self.messages(err)
        self.assertEqual(len(said), 1, err)
        place = r"(after step \d+ of|at the beginning of) epoch \d+"
        self.assertRegex(said[0], rf"rank 2 on \S+ has not been heard of for .* s, {place}")

    def test_a_rank_that_fails_says_why_once(self):
        broken = self.folder / "data" / "train-labels-idx1-ubyte"
        job = self.start(2, self.train("failed", "--classes", "2", epochs=2))
        _, err = self.end(job, 60)
        self.assertNotEqual(job.returncode, 0)
        self.assertEqual(len(self.messages(err)), 1, err)
        self.assertTrue(broken.exists())

    def test_two_hosts_train_as_one(self):
        sys.path.insert(0, str(ROOT / "bench" / "distributed"))
        import two_hosts
        if why := two_hosts.may_make_namespaces():
            self.skipTest(f"network namespaces are not allowed here: {why}")
        self.done(1, self.train("one", epochs=2))
        cores = ["0", "0"]
        with two_hosts.two_hosts():
            agent = two_hosts.agent_of(self.folder, cores)
            mpirun = (f"{MPIRUN} --allow-run-as-root --bind-to none --oversubscribe -np 2 "
                      f"-H {two_hosts.ADDRESSES[0]}:1,{two_hosts.ADDRESSES[1]}:1 --mca plm_rsh_agent {agent} "
                      f"--mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 ")
            command = mpirun + " ".join(self.train("two", epochs=2))
            done = subprocess.run(two_hosts.on_host(0, command, cores), env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.weights("two"), self.weights("one"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[3:]])
