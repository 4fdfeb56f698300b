"""Tests of the side-by-side harness (bench/peers): statistics, turns, the page and what it refuses. Standard library only."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench" / "peers"))
sys.dont_write_bytecode = True

import peers  # noqa: E402
from harness import flops, report, workloads  # noqa: E402
from harness.blocks import check_same_work, contenders, take_turns  # noqa: E402
from harness.process import Spawn, Worker, WorkerError, group_memory  # noqa: E402
from harness.quiet import Quiet  # noqa: E402
from harness.rows import Cell, Row, Settings  # noqa: E402
from harness.stats import Summary, best, block_size, gain, percentile  # noqa: E402

LABELS = {"stoker": "Stoker 0.1.0", "keras": "Keras 3", "torch": "PyTorch 2"}


def row(name="b/cnn64/32", better="lower", **medians):
    cells = {key: Cell(Summary.of([value, value * 1.1, value * 0.9])) for key, value in medians.items()}
    return Row(name, f"title of {name}", "ms/step", better, cells).as_json()


def results(rows, cpu="a processor"):
    return {
        "date": "2026-01-02", "command": "make peers",
        "machine": {"cpu": cpu, "cores": 2, "vector": ["avx2"], "memory_gib": 24, "os": "Debian", "kernel": "6", "compiler": "g++",
                    "gpus": []},
        "settings": {"threads": 2, "rounds": 3, "block": 0.5, "quick": False},
        "systems": {key: {"label": label, "missing": ""} for key, label in LABELS.items()}
        | {"grain": {"label": "Grain", "missing": "No module named 'grain'"}},
        "limits": {"memcpy_gb_s": 10.0, "matmul_gflop_s": {"stoker": 150.0}, "jpeg_images_s": 600.0},
        "rows": rows,
    }


def ended_within(pid, seconds):
    """Whether the process is gone, or waits to be reaped by whoever inherited it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


class Statistics(unittest.TestCase):
    def test_percentiles_interpolate(self):
        self.assertEqual(percentile([3, 1, 2], 0.5), 2)
        self.assertAlmostEqual(percentile([1, 2], 0.1), 1.1)
        self.assertEqual(percentile([5], 0.9), 5)
        with self.assertRaises(ValueError):
            percentile([], 0.5)

    def test_one_outlier_does_not_move_the_median(self):
        summary = Summary.of([10, 10, 10, 10, 90])
        self.assertEqual(summary.median, 10)
        self.assertGreater(summary.high, 10)

    def test_gain_is_above_one_when_we_are_better(self):
        self.assertEqual(gain(5, 10, "lower"), 2)
        self.assertEqual(gain(10, 5, "higher"), 2)
        self.assertEqual(gain(10, 5, "lower"), 0.5)
        with self.assertRaises(ValueError):
            gain(1, 2, "sideways")
        with self.assertRaises(ValueError):
            gain(0, 2, "lower")

    def test_best_follows_the_direction(self):
        self.assertEqual(best({"a": 1, "b": 2}, "lower"), "a")
        self.assertEqual(best({"a": 1, "b": 2}, "higher"), "b")
        self.assertIsNone(best({}, "lower"))

    def test_blocks_have_at_least_two_units(self):
        self.assertEqual(block_size(10.0, 1.0), 2)
        self.assertEqual(block_size(0.01, 1.0), 100)
        self.assertEqual(block_size(0.0, 1.0, most=50), 50)

    def test_flops_of_a_small_cnn(self):
        self.assertAlmostEqual(flops.training_step("cnn64", 128) / 1e9, 7.04, delta=0.3)
        self.assertEqual(flops.training_step("mlp", 2), 2 * flops.training_step("mlp", 1))


class Turns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.workers = {}

    def tearDown(self):
        for worker in self.workers.values():
            worker.end()
        self.folder.cleanup()

    def worker(self, key):
        command = [sys.executable, str(HERE / "fake_worker.py")]
        self.workers[key] = Worker(command, os.environ, Path(self.folder.name) / f"{key}.log")
        return self.workers[key]

    def test_the_fastest_form_that_works_is_measured_in_every_round(self):
        self.worker("one"), self.worker("two")
        settings = Settings(True, 1, rounds=3, block=0.01, calibration=0.01, spawns=1)
        ready, missing = contenders(self.workers, {"model": "any", "parameters": 5}, settings)
        self.assertEqual(missing, {})
        take_turns(ready, settings.rounds)
        for contender in ready.values():
            self.assertEqual(contender.variant, "fast")
            self.assertEqual(len(contender.samples), 3)
            self.assertEqual(contender.failures, {"broken": "RuntimeError: this form does not work here"})

    def test_a_worker_that_cannot_is_missing_with_its_reason(self):
        self.worker("one")
        settings = Settings(True, 1, rounds=1, block=0.01, calibration=0.01, spawns=1)
        ready, missing = contenders(self.workers, {"model": "unknown"}, settings)
        self.assertEqual(ready, {})
        self.assertEqual(missing, {"one": "ValueError: no such model"})

    def test_different_models_are_refused(self):
        class Fake:
            def __init__(self, count):
                self.facts = {"parameters": count}

        with self.assertRaisesRegex(RuntimeError, "do not train the same model"):
            check_same_work({"one": Fake(5), "two": Fake(6)})

    def test_a_worker_that_dies_leaves_its_last_words(self):
        log = Path(self.folder.name) / "dies.log"
        worker = Worker([sys.executable, "-c", "import sys; sys.exit('no such library')"], os.environ, log)
        with self.assertRaisesRegex(WorkerError, "no such library"):
            worker.ask({"op": "load", "workload": {}})
        worker.end()

    def test_a_driver_that_is_killed_leaves_no_worker_behind(self):
        driver = subprocess.Popen([sys.executable, "-c", f"""
import os, sys, time
sys.path.insert(0, {str(HERE.parents[1] / "bench" / "peers")!r})
sys.dont_write_bytecode = True
from pathlib import Path
from harness.process import Worker
worker = Worker([sys.executable, {str(HERE / "fake_worker.py")!r}], os.environ, Path({self.folder.name!r}) / "worker.log")
worker.ask({{"op": "load", "workload": {{"model": "any", "parameters": 1}}}})
print(worker.group, flush=True)
time.sleep(60)
"""], stdout=subprocess.PIPE, text=True)
        pid = int(driver.stdout.readline())
        driver.kill()
        driver.wait()
        driver.stdout.close()
        self.assertTrue(ended_within(pid, 10), "the stopped worker is still there")

    def test_memory_of_a_process_group_is_seen(self):
        worker = self.worker("one")
        worker.ask({"op": "load", "workload": {"model": "any", "parameters": 1}})
        self.assertGreater(group_memory(worker.group), 1 << 20)

    def test_a_spawned_program_is_timed_from_outside(self):
        log = Path(self.folder.name) / "spawn.log"
        run = Spawn([sys.executable, "-c", "print('noise'); print('{\"epochs\": [1]}')"], os.environ, log)
        self.assertEqual(run.result(), {"epochs": [1]})
        self.assertGreater(run.wall, run.lines[0][0])
        self.assertGreater(run.peak, 1 << 20)
        with self.assertRaisesRegex(WorkerError, "ValueError: bad"):
            Spawn([sys.executable, "-c", "raise ValueError('bad')"], os.environ, log)


class Page(unittest.TestCase):
    def test_ahead_and_behind_are_computed(self):
        self.assertEqual(report.comparison(row(stoker=5.0, keras=10.0, torch=8.0)), ("torch", 1.6, "ahead"))
        self.assertEqual(report.comparison(row(stoker=10.0, keras=5.0))[2], "behind")
        self.assertEqual(report.comparison(row(stoker=10.0, keras=10.1))[2], "level")
        self.assertEqual(report.comparison(row(better="higher", stoker=10.0, keras=5.0))[2], "ahead")
        self.assertIsNone(report.comparison(row(keras=5.0)))
        self.assertIsNone(report.comparison(row(better="none", stoker=5.0, keras=5.0)))

    def test_a_note_that_says_ahead_where_the_figures_do_not_is_refused(self):
        rows = [row(stoker=10.0, keras=5.0)]
        with self.assertRaisesRegex(report.ReportError, "says ahead, but the figures say behind"):
            report.markdown(results(rows), {"b/cnn64/32": "Stoker is ahead here."})
        report.markdown(results([row(stoker=5.0, keras=10.0)]), {"b/cnn64/32": "Stoker is ahead here."})

    def test_a_note_about_no_row_is_refused(self):
        with self.assertRaisesRegex(report.ReportError, "is no row"):
            report.markdown(results([row(stoker=5.0)]), {"b/typo": "text"})

    def test_a_row_that_is_behind_has_a_paragraph_with_figures(self):
        text = report.markdown(results([row(stoker=10.0, keras=5.0)]), {})
        self.assertIn("Keras 3 is ahead: 5.00 ms/step against Stoker's 10.0 (0.50×). The cause is not known yet.", text)
        self.assertIn("0.50×, behind Keras 3", text)
        noted = report.markdown(results([row(stoker=10.0, keras=5.0)]), {"b/cnn64/32": "Pooling is slow."})
        self.assertIn("(0.50×). Pooling is slow.", noted)

    def test_what_other_programs_measured_stands_at_the_end(self):
        text = report.markdown(results([row(stoker=5.0)]), {"gpu": "A table.", "pipeline": "Another."})
        self.assertTrue(text.endswith("## On a GPU\n\nA table.\n\n\n## The input pipeline by itself\n\nAnother.\n"), text)

    def test_missing_systems_and_cells_are_reported_with_their_reason(self):
        one = row(keras=5.0)
        one["systems"]["stoker"] = {"missing": "not in this version"}
        text = report.markdown(results([one]), {})
        self.assertIn("Missing: Grain: No module named 'grain'", text)
        self.assertIn("Stoker 0.1.0: not in this version", text)
        self.assertIn("| – |", text)

    def test_promises_show_the_worst_row(self):
        rows = [row("b/cnn64/32", stoker=5.0, keras=10.0), row("b/cnn32/32", stoker=5.0, keras=6.0),
                row("d/start", stoker=1.0, keras=50.0)]
        text = "\n".join(report.bars(rows))
        self.assertIn("| ≥ 1.5× | 1.20× (title of b/cnn32/32) | **missed** |", text)
        self.assertIn("| ≥ 20× | 50.00× (title of d/start) | met |", text)

    def test_numbers_have_three_digits(self):
        cases = {0.01234: "0.0123", 1.0: "1.00", 5.5: "5.50", 12.34: "12.3", 10.0: "10.0", 123.4: "123", 1234.0: "1,234",
                 98765.0: "98,800", 0.5: "0.500", 0: "0"}
        for value, text in cases.items():
            self.assertEqual(report.number(value), text)

    def test_the_readme_changes_only_between_its_marks(self):
        text = "before\n<!-- peers:begin -->\nold\n<!-- peers:end -->\nafter\n"
        self.assertEqual(report.replace_between(text, "peers", "new"),
                         "before\n<!-- peers:begin -->\nnew\n<!-- peers:end -->\nafter\n")
        self.assertEqual(report.replace_between("no marks", "peers", "new"), "no marks")


class Asking(unittest.TestCase):
    def test_a_section_a_model_or_one_row(self):
        self.assertIn("b/cnn64/32", workloads.Asked(["b"]))
        self.assertIn("b/cnn64/32", workloads.Asked(["a", "b/cnn64"]))
        self.assertNotIn("b/cnn64/32", workloads.Asked(["b/cnn64/128"]))
        self.assertTrue(workloads.Asked(["b/mlp"]).any("b"))
        self.assertFalse(workloads.Asked(["b/mlp"]).any("d"))
        self.assertEqual(workloads.Asked(["b/cnn64", "b/cnn6", "e"]).unknown(), ["b/cnn6", "e"])

    def test_the_lock_is_held_inside_and_free_outside(self):
        with tempfile.NamedTemporaryFile() as file:
            quiet = Quiet(Path(file.name))
            command = ["flock", "--nonblock", "--shared", file.name, "true"]
            with quiet:
                self.assertEqual(subprocess.run(command, check=False).returncode, 1)
            self.assertEqual(subprocess.run(command, check=False).returncode, 0)


class Merging(unittest.TestCase):
    def test_rows_that_were_not_measured_stay(self):
        before = results([row("b/cnn64/128", keras=1.0), row("b/mlp/32", keras=1.0), row("a/memory/first", keras=1.0)])
        merged = peers.merge(results([row("b/cnn64/128", stoker=2.0)]), before)
        self.assertEqual([entry["id"] for entry in merged["rows"]], ["a/memory/first", "b/cnn64/128", "b/mlp/32"])
        self.assertIn("stoker", merged["rows"][1]["systems"])
        self.assertEqual(merged["earlier_commands"], ["2026-01-02: make peers"])

    def test_rows_of_a_workload_that_is_gone_go_too(self):
        merged = peers.merge(results([row("b/mlp/32", stoker=1.0)]), results([row("b/old", keras=1.0)]))
        self.assertEqual([entry["id"] for entry in merged["rows"]], ["b/mlp/32"])
        self.assertNotIn("earlier_commands", merged)

    def test_another_machine_is_not_mixed_in(self):
        merged = peers.merge(results([row("b/mlp/32", stoker=1.0)]), results([row("d/start", keras=1.0)], cpu="another"))
        self.assertEqual([entry["id"] for entry in merged["rows"]], ["b/mlp/32"])

    def test_the_command_is_one_that_can_be_typed(self):
        self.assertEqual(peers.command_text(peers.parse([])), "make peers")
        self.assertEqual(peers.command_text(peers.parse(["--quick", "--only", "b,d"])), 'make peers QUICK=1 PEERS="--only b,d"')


if __name__ == "__main__":
    unittest.main()
