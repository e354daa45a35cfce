"""Templates, Dockerfile, release metadata, dashboard and how-to pages: run where they can be, else linted."""

import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml
from support import BIN, BROKEN, ROOT, blocks, environment, project, scratch, shell

REQUIRED = os.environ.get("DYNO_REQUIRE_READERS") == "1"


# A host that disturbs every trial lets no limit pass: 7, undecided.
PASSED = (0, 7)


class Lints(unittest.TestCase):
    def passes(self, *command: object):
        done = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_schemas_of_the_servers_hold(self):
        check = BIN / "check-jsonschema"
        self.passes(check, "--builtin-schema", "vendor.github-actions", "action.yml")
        workflows = [*ROOT.glob(".github/workflows/*.yml"), ROOT / "ci/github/dyno.yml"]
        self.passes(check, "--builtin-schema", "vendor.github-workflows", *workflows)
        self.passes(check, "--builtin-schema", "vendor.gitlab-ci", "ci/gitlab/dyno.gitlab-ci.yml")

    def test_shell_and_dockerfile_are_clean(self):
        self.passes(BIN / "shellcheck", "ci/action.sh")
        self.passes(BIN / "hadolint", "Dockerfile")

    def test_the_image_installs_what_the_clean_debian_of_the_release_check_does(self):
        words = re.findall(r"--no-install-recommends (/packages/\*\.deb [a-z -]+?) (?:\\\n|>)", (ROOT / "Dockerfile").read_text())
        checked = (ROOT / "xtask/src/dist/clean_root.rs").read_text()
        self.assertEqual(len(words), 1)
        self.assertIn(f"--no-install-recommends {words[0]} >", checked)
        if shutil.which("apt-cache"):
            for package in words[0].split()[1:]:
                self.passes("apt-cache", "show", package)

    def test_binstall_fetches_what_dist_makes(self):
        crate = tomllib.loads((ROOT / "crates/dyno/Cargo.toml").read_text())["package"]["metadata"]["binstall"]
        dist = (ROOT / "xtask/src/dist.rs").read_text()
        self.assertIn('format!("dyno-{}-{}", release.version, release.architecture)', dist)
        self.assertIn('format!("{name}.tar.gz")', dist)
        for target, architecture in (("x86_64-unknown-linux-gnu", "amd64"), ("aarch64-unknown-linux-gnu", "arm64")):
            of_target = crate["overrides"][target]
            name = f"dyno-{{ version }}-{architecture}"
            self.assertEqual(of_target["pkg-url"], f"{{ repo }}/releases/download/v{{ version }}/{name}.tar.gz")
            self.assertEqual(of_target["bin-dir"], f"{name}/bin/{{ bin }}{{ binary-ext }}")

    def test_the_release_has_the_page_of_its_version_and_one_list_of_checksums(self):
        workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
        self.assertEqual(workflow["permissions"], {"contents": "read"})
        steps = {step.get("name"): step.get("run") for step in workflow["jobs"]["release"]["steps"]}
        place = scratch() / "release"
        place.mkdir()
        (place / "CHANGELOG.md").write_text("# Changelog\n## [Unreleased]\nlater\n## [1.2.0] - 2026-01-02\nthis one\n### Fixed\n## [1.1.0] - 2025-01-02\nbefore\n")
        notes = steps["The text of the release is the page of the changelog"]
        self.assertEqual(shell(notes, place, GITHUB_REF_NAME="v1.2.0").returncode, 0)
        self.assertEqual((place / "notes.md").read_text(), "this one\n### Fixed\n")
        self.assertNotEqual(shell(notes, place, GITHUB_REF_NAME="v1.3.0").returncode, 0)
        for architecture in ("amd64", "arm64"):
            folder = place / f"built/packages-{architecture}"
            folder.mkdir(parents=True)
            (folder / f"dyno-{architecture}.tar.gz").write_text(architecture)
            subprocess.run("sha256sum *.tar.gz >SHA256SUMS", shell=True, cwd=folder, check=True)
        joined = shell(steps["Files of both architectures, with one list of checksums"], place)
        self.assertEqual(joined.returncode, 0, joined.stderr)
        self.assertEqual(sorted(f.name for f in (place / "out").iterdir()), ["SHA256SUMS", "dyno-amd64.tar.gz", "dyno-arm64.tar.gz"])
        self.assertEqual(len((place / "out/SHA256SUMS").read_text().splitlines()), 2)

    def test_versions_in_examples_are_the_programs(self):
        version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
        for file in ("ci/github/dyno.yml", "ci/gitlab/dyno.gitlab-ci.yml", "docs/how-to/use-in-ci.md"):
            found = re.findall(r"dyno-bench/dyno[@:]v?([0-9.]+[0-9])", (ROOT / file).read_text())
            self.assertEqual(set(found), {version}, file)
        package = tomllib.loads((ROOT / "python/pyproject.toml").read_text())
        self.assertEqual(package["project"]["version"], version)


class Templates(unittest.TestCase):
    def test_the_job_of_gitlab_runs_and_fails_by_a_limit(self):
        job = yaml.safe_load((ROOT / "ci/gitlab/dyno.gitlab-ci.yml").read_text())["dyno"]
        history = [rule for rule in job["rules"] if rule.get("variables") == {"DYNO_CACHE": "pull-push"}]
        self.assertEqual([rule["if"] for rule in history], ["$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"])
        self.assertEqual((job["variables"]["DYNO_CACHE"], job["cache"]["policy"]), ("pull", "$DYNO_CACHE"))
        place = project("gitlab")
        script = "\n".join(job["script"])
        done = shell(script, place, CI_PIPELINE_ID="41", **job["variables"])
        self.assertIn(done.returncode, PASSED, done.stdout + done.stderr)
        for path in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"], *job["cache"]["paths"]):
            self.assertTrue((place / path).exists(), path)
        (place / "limits.toml").write_text(BROKEN)
        self.assertEqual(shell(script, place, CI_PIPELINE_ID="42", **job["variables"]).returncode, 6)
        self.assertIn("at once", (place / "junit.xml").read_text())

    def test_the_stages_of_jenkins_run_and_fail_by_a_limit(self):
        text = (ROOT / "ci/jenkins/Jenkinsfile").read_text()
        self.assertEqual(text.count("{"), text.count("}"))
        variables = dict(re.findall(r"^ +(DYNO_\w+) = '(.*)'$", text, re.MULTILINE))
        steps = re.findall(r"sh '''(.*?)'''", text, re.DOTALL)
        self.assertEqual(len(steps), 3)
        place = project("jenkins")
        for step in steps:
            done = shell(step, place, options=("-xe",), BUILD_NUMBER="7", **variables)
            self.assertIn(done.returncode, PASSED, done.stdout + done.stderr)
        self.assertTrue((place / "junit.xml").exists() and (place / "report.html").exists())
        (place / "limits.toml").write_text(BROKEN)
        self.assertEqual(shell(steps[1], place, BUILD_NUMBER="7", **variables).returncode, 6)


class Pages(unittest.TestCase):
    def run_page(self, page: str, attempt: str = "") -> Path:
        place = project(Path(page).stem + attempt)
        commands = "".join(blocks(page, "sh"))
        self.assertIn("dyno ", commands)
        done = shell(commands, place)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        if python := "".join(blocks(page, "python")):
            ran = subprocess.run(
                [sys.executable, "-c", python], cwd=place, capture_output=True, text=True,
                env=environment(PYTHONPATH=str(ROOT / "python/src"), MPLCONFIGDIR=str(scratch())),
            )
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return place

    def test_use_in_ci(self):
        self.assertTrue((self.run_page("docs/how-to/use-in-ci.md") / "junit.xml").exists())

    def test_use_from_python(self):
        self.assertTrue((self.run_page("docs/how-to/use-from-python.md") / "stacks.png").exists())

    def test_track_over_time_gives_each_service_one_figure_for_each_name(self):
        # Where the host disturbed all trials but one, that one has no median, as the page says: measure again.
        for attempt in "abcde":
            place = self.run_page("docs/how-to/track-over-time.md", attempt)
            median = json.loads((place / "median.json").read_text())
            names = [b["name"] for b in median["benchmarks"]]
            if len(names) == 2:
                break
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(names), 2)
        # What github-action-benchmark (tool googlecpp) and Bencher (adapter cpp_google) read of each.
        for b in median["benchmarks"]:
            self.assertIsInstance(b["name"], str)
            self.assertGreater(b["real_time"], 0)
            self.assertEqual(b["time_unit"], "ns")
            for key in ("iterations", "cpu_time", "threads"):
                self.assertIsInstance(b[key], (int, float))
        self.assertIsInstance(median["context"]["caches"], list)
        self.assertTrue((place / "textfile/dyno.prom").read_text().endswith("# EOF\n"))

    def test_links_lead_somewhere(self):
        for page in ("use-in-ci", "use-from-python", "use-in-a-container", "track-over-time"):
            file = ROOT / f"docs/how-to/{page}.md"
            for link in re.findall(r"\]\(([^)#]+)[^)]*\)", file.read_text()):
                self.assertTrue((file.parent / link).exists(), f"{page}: {link}")


class Dashboard(unittest.TestCase):
    dashboard = json.loads((ROOT / "dashboards/dyno.json").read_text())

    @staticmethod
    def has_quantile(query: str, text: str) -> bool:
        asked = re.search(r'(dyno_latency\w*).*(quantile="[^"]+")', query)
        return asked is None or any(line.startswith(asked[1]) and asked[2] in line and 'metric="response"' in line for line in text.splitlines())

    def queries(self):
        for panel in self.dashboard["panels"]:
            for target in panel["targets"]:
                yield panel["title"], re.sub(r"\$metric", "response", re.sub(r"\$(suite|experiment|stack|wait)", ".*", target["expr"]))

    def test_panels_are_laid_out_apart_and_use_the_datasource_that_is_chosen(self):
        taken = set()
        for panel in self.dashboard["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(taken & cells, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24)
            taken |= cells
            for target in panel["targets"]:
                self.assertEqual(target["datasource"]["uid"], "${datasource}")
        ids = [panel["id"] for panel in self.dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        known = {v["name"] for v in self.dashboard["templating"]["list"]}
        self.assertLessEqual(set(re.findall(r"\$\{?(\w+)", json.dumps(self.dashboard))) - {"__all"}, known)

    def test_prometheus_scrapes_the_export_and_answers_every_panel(self):
        program = prometheus()
        if program is None:
            self.skipTest("NOT TESTED: the dashboard in Prometheus, which Debian's archive has")
        place = project("scraped")
        (place / "load.toml").write_text((place / "load.toml").read_text().replace('rate = "1 kHz"\n', "") + '[experiment.matrix]\nrate = ["1 kHz", "2 kHz"]\n')
        exported = shell("dyno run load.toml --stack uds-stream --out run --quiet && dyno show run --format openmetrics -o dyno.prom", place)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        text = (place / "dyno.prom").read_text()
        # A family of the type info has the suffix in its samples alone.
        declared = {name + "_info" * (kind == "info") for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)}
        documented = set(re.findall(r"dyno_\w+", (ROOT / "docs/reference/exports.md").read_text()))
        self.assertLessEqual(declared, documented)
        for title, query in self.queries():
            self.assertLessEqual(set(re.findall(r"dyno_\w+", query)), documented, title)
        with served(text) as target, running(program, target, place) as api:
            total = ask(api, "count({__name__=~'dyno_.+'})", until=lambda found: found)
            samples = [line for line in text.splitlines() if line and not line.startswith("#")]
            self.assertEqual(int(total[0]["value"][1]), len(samples), "every line that Dyno wrote is a sample")
            for title, query in self.queries():
                # What is not sure, as on a busy machine, is withheld: × floor, quantiles, costs.
                if all(f"\n{name}{{" in text for name in re.findall(r"dyno_\w+", query)) and self.has_quantile(query, text):
                    series = ask(api, query)
                    self.assertTrue(series, f"{title}: no answer to {query}")
                    # Every cell has a line of its own: none is merged with that of another rate.
                    chosen = ask(api, f"count({re.search(r'dyno_[^ ]+?{.*?}', query)[0]})")
                    self.assertEqual(len(series), int(chosen[0]["value"][1]), title)
                    for one in series:
                        self.assertLessEqual({"id", "instance", "rate_hz", "access", "topology", "placement", "testbed"}, set(one["metric"]), title)
                    if "dyno_trials" in query:
                        self.assertEqual({one["metric"]["rate_hz"] for one in series}, {"1000", "2000"})


def prometheus() -> Path | None:
    """Prometheus from Debian's archive, unpacked below target and not installed, since an installed one starts at boot."""
    found = shutil.which("prometheus")
    place = ROOT / "target/prometheus"
    program = place / "usr/bin/prometheus"
    if found or program.exists():
        return Path(found or program)
    if not shutil.which("apt-get"):
        return None
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    download = ["apt-get", "download", "-q", "prometheus"]
    done = subprocess.run(download, cwd=place, capture_output=True, text=True)
    if done.returncode and os.geteuid() == 0:
        # Its lists may be missing or old.
        subprocess.run(["apt-get", "update", "-q"], capture_output=True)
        done = subprocess.run(download, cwd=place, capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(place)
        assert not REQUIRED, f"apt-get download prometheus: {done.stderr}; run `apt-get update`, then this again"
        return None
    (archive,) = place.glob("*.deb")
    subprocess.run(["dpkg", "-x", archive, place], check=True)
    archive.unlink()
    return program


class served:
    """A target to scrape."""

    def __init__(self, text: str):
        body = text.encode()

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)

    def __enter__(self) -> str:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class running:
    """A Prometheus that scrapes one target each second."""

    def __init__(self, program: Path, target: str, place: Path):
        config = {"global": {"scrape_interval": "1s"}, "scrape_configs": [{"job_name": "dyno", "honor_labels": True, "static_configs": [{"targets": [target]}]}]}
        (place / "prometheus.yml").write_text(yaml.safe_dump(config))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.command = [program, "--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address={self.address}"]
        self.place = place

    def __enter__(self) -> str:
        self.log = (self.place / "prometheus.log").open("w")
        self.child = subprocess.Popen(self.command, cwd=self.place, stdout=self.log, stderr=self.log)
        return f"http://{self.address}/api/v1/query"

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(60)
        self.log.close()


def ask(api: str, query: str, until=lambda found: True):
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(f"{api}?{urllib.parse.urlencode({'query': query})}", timeout=60) as answer:
                found = json.load(answer)["data"]["result"]
        except (urllib.error.URLError, ConnectionError):
            found = None
        if found is not None and until(found):
            return found
        assert time.monotonic() < deadline, f"no answer to {query}"
        time.sleep(0.2)


if __name__ == "__main__":
    unittest.main()
