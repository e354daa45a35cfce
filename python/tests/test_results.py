"""The package, held against the golden runs and against the figures of `dyno show` itself."""

import copy
import io
import json
import math
import os
import random
import shutil
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path

import support
from hdrh.histogram import HdrHistogram
from support import DYNO, GOLDEN, ROOT, dyno, measured, scratch

from dyno_results import QUANTILES, Cause, Run, Samples, Summary, TooFewSamples, plot, read_parquet, samples_needed, to_frame
from dyno_results import histogram


def nine_digits(value: float) -> float:
    return float(f"{value:.9g}")


def stored(values: list[int], lost: int) -> dict:
    """A distribution as a trial stores it, encoded by HdrHistogram's Python port."""
    hdr = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        hdr.record_value(value)
    ends = {"min": min(values, default=0), "max": max(values, default=0)}
    text = hdr.encode().decode() if values else ""
    return {"total": text, "blocks": [text], "n": len(values), "infinite": lost, "saturated": 0, "sum": float(sum(values)), **ends}


def made(name: str, trials: list[tuple[list[int], int]]) -> Path:
    """The golden run with other samples, which are nobody's: values and losses of each trial."""
    place = scratch() / name
    shutil.copytree(GOLDEN / "run-v4", place)
    record = json.loads((place / "trials/e0001-t000.json").read_text())
    shutil.rmtree(place / "raw")
    for number, (values, lost) in enumerate(trials):
        one = copy.deepcopy(record)
        one |= {"number": number, "disturbed": [], "raw_samples": 0, "networks": []}
        one["distributions"] = {"response_ns": stored(values, lost)}
        n = len(values) + lost
        one["counts"] |= {"offered": n, "sent": n, "received": len(values), "lost": lost, "under_way": 0, "reordered": 0}
        (place / f"trials/e0001-t{number:03}.json").write_text(json.dumps(one))
    return place


class AgainstDyno(unittest.TestCase):
    def same_figures(self, path: Path) -> int:
        """Every figure that both have is the same to the last digit that Dyno prints; gives how many there are."""
        run, summary = Run.read(path), Summary.parse(dyno("show", path, "--format", "json"))
        compared = 0
        for e in summary.experiments:
            self.assertEqual(len(run.counting(e["id"])), e["trials"], e["id"])
            for metric, found in e["metrics"].items():
                samples = run.samples(e["id"], metric)
                self.assertEqual((samples.n, samples.infinite), (found["n"], found["infinite"]))
                for name, q in QUANTILES.items():
                    estimate = e.quantile(name, metric)
                    refused = found.get(f"{name}_refused")
                    if estimate:
                        self.assertEqual(nine_digits(samples.quantile(q)), estimate.value, (e["id"], metric, name))
                        self.assertLessEqual(estimate.lo, estimate.value)
                        self.assertLessEqual(estimate.value, estimate.hi)
                        compared += 1
                    elif "wide" not in refused:
                        with self.assertRaises(TooFewSamples) as few:
                            samples.quantile(q)
                        self.assertEqual((few.exception.have, few.exception.need), (refused["have"], refused["need"]))
        return compared

    def test_golden_runs_of_every_format_are_read(self):
        for version in (1, 2, 3, 4):
            path = GOLDEN / f"run-v{version}"
            self.same_figures(path)
            run = Run.read(path)
            self.assertEqual(run.damaged, [])
            failed, trial = run.trials
            self.assertFalse(failed.completed)
            # The example of docs/run-format.md: 12,300 ns twice, 12,306 (in a bucket around 12,308) and 25,000 ns, and one lost.
            samples = trial.samples("response_ns")
            self.assertEqual([samples.quantile(q, unsure=True) for q in (0.2, 0.5, 0.8, 0.9)], [12300, 12308, 25000, math.inf])
            raw = list(run.raw(trial))
            self.assertEqual((len(raw), raw[0].response, raw[0].service), (2, 12345, 12300))

    def test_causes_have_their_values_and_those_of_older_runs_their_sentence(self):
        failed, trial = Run.read(GOLDEN / "run-v4").trials
        self.assertEqual((failed.failure.cause, failed.failure.values["exit"], failed.failure.text), ("agent-ended", {"signal": 11}, None))
        self.assertIsNone(trial.failure)
        self.assertEqual([(c.cause, c.values["share"]) for c in trial.disturbed], [("foreign-load", 0.2)])
        self.assertEqual([c.cause for c in trial.warnings], ["not-granted"])
        failed, trial = Run.read(GOLDEN / "run-v3").trials
        self.assertEqual((failed.failure.cause, failed.failure.text), (None, "the sink ended by signal 11 (SIGSEGV)"))
        self.assertEqual([c.text for c in trial.disturbed], ["other processes took 20 % of CPUs 0 and 1 (rustc)"])
        self.assertEqual([c.text for c in trial.warnings], ["SCHED_FIFO not granted: needs CAP_SYS_NICE"])
        for damaged in (None, 4, {}, {"cause": 4}, {"cause": "steal", "values": []}):
            with self.assertRaises(ValueError):
                Cause.of(damaged)

    def test_a_measured_run_has_the_figures_of_dyno_show_to_the_last_digit(self):
        # How many it has depends on the machine: a noisy one leaves intervals too wide to print.
        self.same_figures(measured())

    def test_loss_reaches_quantiles_as_infinity_on_both_sides(self):
        draw = random.Random(7)
        trials = [([draw.randrange(10_000, 14_000) for _ in range(n)], lost) for n, lost in ((900, 90), (800, 120), (1000, 100))]
        path = made("lossy", trials)
        self.assertGreater(self.same_figures(path), 1)
        lossy = Summary.show(path, program=DYNO).experiments[1]
        self.assertTrue(math.isfinite(lossy.quantile("p50").value))
        self.assertEqual(lossy.quantile("p99").value, math.inf)
        row = lossy.row("response_ns")
        self.assertEqual((row["p99"], row["p99_hi"], row["lost"]), (math.inf, math.inf, 310))
        with self.subTest("trials of different size weigh the same"):
            uneven = made("uneven", [([10_000] * 100, 0), ([10_500] * 900, 0), ([11_000] * 400, 0)])
            self.assertGreater(self.same_figures(uneven), 0)
            self.assertEqual(nine_digits(Run.read(uneven).samples(1, "response_ns").quantile(0.33)), 10_000)

    def test_parquet_has_the_quantiles_of_each_trial_and_every_raw_sample(self):
        dyno("show", measured(), "--format", "parquet", "-o", "tables")
        run = Run.read(measured())
        results, samples = read_parquet(scratch() / "tables")
        polars_results, polars_samples = read_parquet(scratch() / "tables", "polars")
        self.assertEqual((len(results), len(samples)), (polars_results.height, polars_samples.height))
        trials = {(t.experiment, t.number): t for t in run.trials}
        counting = {(t.experiment, t.number) for e in run.experiments for t in run.counting(e["id"])}
        compared = 0
        for row in polars_results.to_dicts():
            trial = trials[row["id"], row["trial"]]
            self.assertEqual(row["counted"], (row["id"], row["trial"]) in counting)
            for name, q in QUANTILES.items():
                if row[name] is not None:
                    self.assertEqual(trial.samples(row["metric"]).quantile(q), row[name])
                    compared += 1
        self.assertGreater(compared, 20)
        stored = [raw for t in run.trials for raw in run.raw(t)]
        self.assertEqual(sorted(r.response for r in stored), sorted(polars_samples["response_ns"].to_list()))
        plot.trials(results.to_dict("records"))
        plot.trials(polars_results.to_dicts())


class Reading(unittest.TestCase):
    def damaged(self, change) -> list[str]:
        place = scratch() / "damaged"
        shutil.copytree(GOLDEN / "run-v4", place)
        try:
            change(place)
            return Run.read(place).damaged
        finally:
            shutil.rmtree(place)

    def test_damage_is_named_and_the_rest_is_read(self):
        def truncate(place):
            os.truncate(place / "trials/e0001-t000.json", 500)

        def link(place):
            (place / "trials/e0000-t000.json").unlink()
            (place / "trials/e0000-t000.json").symlink_to("/dev/zero")

        def pipe(place):
            os.mkfifo(place / "trials/e0003-t000.json")

        def misplaced(place):
            (place / "trials/e0001-t000.json").rename(place / "trials/e0001-t007.json")

        def newer(place):
            file = place / "trials/e0001-t000.json"
            file.write_text(file.read_text().replace('"format":4', '"format":5', 1))

        for change in (truncate, link, pipe, misplaced, newer):
            with self.subTest(change.__name__):
                self.assertEqual(len(self.damaged(change)), 1)

    def test_a_newer_run_and_another_document_are_refused_with_what_to_do(self):
        def newer(place):
            file = place / "run.json"
            file.write_text(file.read_text().replace('"format": 4', '"format": 5', 1))

        with self.assertRaisesRegex(ValueError, "update dyno-results"):
            self.damaged(newer)
        with self.assertRaisesRegex(ValueError, "no document of `dyno show"):
            Summary.parse(b"[]")
        with self.assertRaisesRegex(RuntimeError, "cannot find a run"):
            Summary.show(scratch() / "nothing", program=DYNO)

    def test_no_text_breaks_the_decoder_otherwise_than_by_its_error(self):
        good = stored(list(range(1, 5000, 7)), 0)["total"]
        self.assertEqual(sum(n for _, n in histogram.cells(good)), len(range(1, 5000, 7)))
        draw = random.Random(11)
        for _ in range(3000):
            at = draw.randrange(len(good))
            text = draw.choice((good[:at], good[:at] + draw.choice("ABCxyz/+=é") + good[at + 1 :]))
            try:
                histogram.cells(text)
            except ValueError:
                pass

    def test_a_histogram_of_every_magnitude_is_that_of_the_other_library(self):
        values = [v for power in range(0, 41) for v in (2**power, 2**power + 2**power // 3)]
        hdr = HdrHistogram(1, 3_600_000_000_000, 3)
        for value in values:
            hdr.record_value(value)
        expected = {}
        for value in values:
            middle = hdr.get_lowest_equivalent_value(value) + (hdr.get_highest_equivalent_value(value) - hdr.get_lowest_equivalent_value(value) + 1) // 2
            expected[middle] = expected.get(middle, 0) + 1
        self.assertEqual(dict(histogram.cells(hdr.encode().decode())), expected)

    def test_the_samples_that_a_quantile_takes_are_those_of_the_reference(self):
        self.assertEqual([samples_needed(q) for q in QUANTILES.values()], [6, 36, 368, 3688])
        with self.assertRaises(TooFewSamples):
            Samples([], []).quantile(0.5, unsure=True)


class Showing(unittest.TestCase):
    def test_frames_of_both_libraries_have_every_row_and_keep_infinity(self):
        draw = random.Random(3)
        path = made("frames", [([draw.randrange(9_000, 9_900) for _ in range(500)], 50) for _ in range(3)])
        rows = Summary.show(path, program=DYNO).rows()
        pandas, polars = to_frame(rows), to_frame(rows, "polars")
        self.assertEqual((len(pandas), polars.height), (len(rows), len(rows)))
        at = next(i for i, row in enumerate(rows) if row["p99"] == math.inf)
        self.assertEqual((pandas["p99"][at], polars["p99"][at]), (math.inf, math.inf))

    def test_plots_say_what_was_lost_and_what_is_withheld(self):
        draw = random.Random(5)
        path = made("plots", [([draw.randrange(9_000, 9_900) for _ in range(500)], 50) for _ in range(3)])
        experiments = Summary.show(path, program=DYNO).experiments
        stacks = plot.stacks(experiments, "p99")
        texts = " ".join(t.get_text() for t in stacks.texts)
        self.assertIn("∞", texts)
        self.assertIn("no trial that counts recorded", texts)
        tail = plot.tail({"udp": Run.read(path).samples(1, "response_ns")})
        self.assertIn("150 of 1650 lost", tail.get_legend().get_texts()[0].get_text())
        withheld = Summary.show(GOLDEN / "run-v4", program=DYNO).experiments
        for draw_one in (plot.stacks, plot.sizes, plot.cost):
            for one in (experiments, withheld, Summary.show(measured(), program=DYNO).experiments):
                picture = io.BytesIO()
                draw_one(one).figure.savefig(picture)
                self.assertGreater(len(picture.getvalue()), 5000)

    def test_the_notebook_runs(self):
        import nbclient
        import nbformat

        notebook = nbformat.read(ROOT / "python/notebooks/results.ipynb", as_version=4)
        self.assertFalse(any(cell.get("outputs") for cell in notebook.cells), "outputs are not checked in")
        os.environ |= {"DYNO_RUN": str(measured()), "DYNO_BIN": DYNO, "PYTHONPATH": str(ROOT / "python/src")}
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
        drawn = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs if "image/png" in o.get("data", {})]
        self.assertGreaterEqual(len(drawn), 4)


class Package(unittest.TestCase):
    def test_it_installs_with_its_types_and_needs_nothing(self):
        source, wheels = scratch() / "package", scratch() / "wheels"
        shutil.copytree(ROOT / "python", source, ignore=shutil.ignore_patterns("__pycache__"))
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, source], check=True)
        (wheel,) = wheels.glob("dyno_results-*.whl")
        self.assertIn("dyno_results/py.typed", zipfile.ZipFile(wheel).namelist())
        # No site packages: nothing but the standard library.
        code = f"import sys; sys.path.insert(0, {str(wheel)!r}); import dyno_results as d; print(d.Run.read({str(GOLDEN / 'run-v4')!r}).trials[1].completed)"
        printed = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True, text=True).stdout
        self.assertEqual(printed.strip(), "True")

    def test_its_types_hold(self):
        mypy = [sys.executable, "-m", "mypy", "--cache-dir", scratch() / "mypy", "--config-file", "pyproject.toml"]
        done = subprocess.run(mypy, cwd=ROOT / "python", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    support.scratch()
    unittest.main()
