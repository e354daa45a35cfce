"""action.yml, its steps run in bash as a runner runs them, against servers of this test for releases and for comments."""

import hashlib
import http.server
import json
import os
import platform
import re
import shutil
import subprocess
import tarfile
import threading
import tomllib
import unittest
from pathlib import Path

import yaml
from support import BROKEN, KEPT, ROOT, SUITE, environment, scratch, shell

VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


class Server(http.server.ThreadingHTTPServer):
    """Releases as they are published, and the comments of one pull request."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.comments: list[dict] = []
        self.may_write = True
        self.files: dict[str, bytes] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def reply(self, code: int, body: bytes):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path.startswith("/releases/"):
            found = self.server.files.get(path.rsplit("/", 1)[1]) if f"/download/v{VERSION}/" in path else None
            self.reply(200 if found else 404, found or b"")
        elif path == "/api/repos/me/car/issues/5/comments":
            self.reply(200, json.dumps(self.server.comments).encode())
        else:
            self.reply(404, b"")

    def write(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.server.may_write or self.headers["Authorization"] != "Bearer secret":
            return self.reply(403, b'{"message": "Resource not accessible by integration"}')
        if self.command == "PATCH":
            self.server.comments[int(self.path.rsplit("/", 1)[1])] |= body
        else:
            self.server.comments.append({"id": len(self.server.comments), "user": {"type": "Bot"}, **body})
        self.reply(201, b"{}")

    do_POST = do_PATCH = write

    def log_message(self, *_):
        pass


def archive() -> bytes:
    """A release whose program is the one under test."""
    name = f"dyno-{VERSION}-{ARCHITECTURE}"
    (scratch() / name / "bin").mkdir(parents=True)
    shutil.copy2(scratch() / "bin/dyno", scratch() / name / "bin/dyno")
    file = scratch() / f"{name}.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        tar.add(scratch() / name, name)
    return file.read_bytes()


def git(place: Path, *arguments: str):
    words = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *arguments]
    subprocess.run(words, cwd=place, check=True, capture_output=True, env=environment())


class Job:
    """One job that uses the action in a checkout of a pull request, or of a push."""

    def __init__(self, server: Server, name: str, *, base: bool = True, pull: bool = True, limits: str = KEPT):
        self.server, self.place = server, scratch() / name
        self.checkout, origin = self.place / "checkout", self.place / "origin"
        self.temporary = self.place / "temporary"
        for folder in (origin, self.temporary):
            folder.mkdir(parents=True)
        git(origin, "init", "--quiet")
        (origin / ("load.toml" if base else "README")).write_text(SUITE)
        git(origin, "add", ".")
        git(origin, "commit", "--quiet", "-m", "base")
        git(self.place, "clone", "--quiet", str(origin), str(self.checkout))
        (self.checkout / "load.toml").write_text(SUITE)
        (self.checkout / "limits.toml").write_text(limits)
        self.github = {"token": "secret", "base_ref": "main" if pull else "", "event_name": "pull_request" if pull else "push"}
        (self.place / "event.json").write_text(json.dumps({"pull_request": {"number": 5}} if pull else {}))

    def run(self, **inputs: str) -> tuple[int, str]:
        """The exit code of the first step that fails, or 0; and what all steps printed."""
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        values = {name: about.get("default", "") for name, about in action["inputs"].items()}
        values |= {"suite": "load.toml", "stacks": "uds-stream", "limits": "limits.toml", "releases": f"{self.server.url}/releases"} | inputs
        self.values = {f"inputs.{k}": v for k, v in values.items()} | {f"github.{k}": v for k, v in self.github.items()}
        self.values = {k: self.filled(v) for k, v in self.values.items()}
        files = {name: self.place / name for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for name in ("GITHUB_ENV", "GITHUB_PATH"):
            files[name].write_text("")
        variables = {name: str(path) for name, path in files.items()} | {
            "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_WORKSPACE": str(self.checkout), "RUNNER_TEMP": str(self.temporary),
            "GITHUB_BASE_REF": self.github["base_ref"], "GITHUB_REPOSITORY": "me/car",
            "GITHUB_EVENT_PATH": str(self.place / "event.json"), "GITHUB_API_URL": f"{self.server.url}/api",
        }
        said = ""
        for step in action["runs"]["steps"]:
            if not self.holds(step.get("if", "true")):
                continue
            (self.place / "GITHUB_OUTPUT").write_text("")
            given = dict(line.split("=", 1) for line in (self.place / "GITHUB_ENV").read_text().splitlines())
            given |= {k: self.filled(v) for k, v in step.get("env", {}).items()}
            # What earlier steps put there stands first; the test's own `dyno` must not be found.
            path = ":".join([*(self.place / "GITHUB_PATH").read_text().split("\n")[:-1], os.environ["PATH"]])
            done = shell(step["run"], self.checkout, **variables, **given | {"PATH": path})
            said += done.stdout + done.stderr
            for line in (self.place / "GITHUB_OUTPUT").read_text().splitlines():
                key, value = line.split("=", 1)
                self.values[f"steps.{step['id']}.outputs.{key}"] = value
            if done.returncode:
                return done.returncode, said
        self.outputs = {k: self.filled(v["value"]) for k, v in action["outputs"].items()}
        return 0, said

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: self.values.get(found[1], ""), text)

    def holds(self, condition: str) -> bool:
        inner = condition.removeprefix("${{ ").removesuffix(" }}")
        terms = [re.fullmatch(r"([\w.-]+) (==|!=) '(.*)'", term) for term in inner.split(" && ")] if inner != "true" else []
        return all((self.values[t[1]] == t[3]) == (t[2] == "==") for t in terms)

    def summary(self) -> str:
        return (self.place / "GITHUB_STEP_SUMMARY").read_text()


class Action(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        content = archive()
        name = f"dyno-{VERSION}-{ARCHITECTURE}.tar.gz"
        cls.server.files = {name: content, "SHA256SUMS": f"{hashlib.sha256(content).hexdigest()}  {name}\n".encode()}

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        self.server.comments, self.server.may_write = [], True

    def test_a_pull_request_is_compared_and_its_next_push_replaces_the_comment(self):
        # A person's comment that begins like the action's, and one without text of an account that is gone.
        others = [{"id": 0, "user": {"type": "User"}, "body": "<!-- dyno: load.toml --> a person's"}, {"id": 1, "user": None, "body": None}]
        self.server.comments = [dict(one) for one in others]
        code, said = Job(self.server, "passes").run(**{"allow-undecided": "true"})
        self.assertEqual(code, 0, said)
        self.assertEqual(len(self.server.comments), 3)
        comment = self.server.comments[2]["body"]
        self.assertRegex(comment, "all limits pass|undecided")
        for text in ("Compared with main", "most arrive", "All figures"):
            self.assertIn(text, comment)
        broken = Job(self.server, "breaks", limits=BROKEN)
        code, said = broken.run()
        self.assertEqual(code, 6, said)
        self.assertEqual(len(self.server.comments), 3)
        self.assertIn("**a limit is broken**", self.server.comments[2]["body"])
        self.assertEqual(self.server.comments[:2], others)
        self.assertIn("::error title=Dyno::a limit is broken", said)
        self.assertNotIn("secret", said)
        self.assertEqual(broken.values["steps.report.outputs.verdict"], "failed")

    def test_without_rights_and_without_a_base_the_summary_has_it_all(self):
        self.server.may_write = False
        job = Job(self.server, "fork", base=False)
        code, said = job.run(**{"allow-undecided": "true"})
        self.assertEqual(code, 0, said)
        self.assertEqual(self.server.comments, [])
        self.assertIn("No comment: the token may not write", said)
        self.assertIn("No comparison: the base branch has no such suite: nothing to compare with", job.summary())
        self.assertIn("load.toml", job.summary())
        # A host that disturbs every trial lets no limit pass.
        self.assertIn(job.outputs["verdict"], ("passed", "undecided"))
        self.assertTrue((Path(job.outputs["run"]) / "run.json").exists())
        self.assertTrue(Path(job.outputs["junit"]).exists())

    def test_a_push_without_limits_reports_and_passes(self):
        job = Job(self.server, "push", pull=False)
        code, said = job.run(limits="", dyno=str(scratch() / "bin/dyno"))
        self.assertEqual(code, 0, said)
        self.assertIn("no limits were given", job.summary())
        self.assertIn("this is no pull request", job.summary())
        self.assertEqual(job.outputs["verdict"], "none")

    def test_what_cannot_be_judged_fails_unless_it_may(self):
        limits = KEPT + '[[limit]]\nname = "tail"\nmetric = "response"\nquantile = "p99.9"\nat_most = "1 s"\n'
        code, said = Job(self.server, "undecided", limits=limits).run(compare="false")
        self.assertEqual(code, 7, said)
        self.assertIn("undecided: measure longer", said)
        job = Job(self.server, "slower", base=False)
        code, said = job.run(limits="", **{"fail-on-slower": "true"})
        self.assertEqual(code, 7, "nothing to compare with is no pass")
        self.assertIn("::error title=Dyno::the base branch has no such suite: nothing to compare with", said)
        self.assertNotIn("measure longer", said)
        may = Job(self.server, "may-be-slower", base=False)
        code, said = may.run(limits="", **{"fail-on-slower": "true", "allow-undecided": "true"})
        self.assertEqual(code, 0, said)
        unmeasured = Job(self.server, "unmeasured")
        prepare = '[[ $PWD == "$GITHUB_WORKSPACE" ]]'
        code, said = unmeasured.run(limits="", prepare=prepare, **{"fail-on-slower": "true"})
        self.assertEqual(code, 7, said)
        self.assertIn("::error title=Dyno::the base branch main could not be measured (code 1)", said)

    def test_figures_that_a_summary_cannot_hold_are_left_out_and_it_says_so(self):
        large = scratch() / "large/dyno"
        large.parent.mkdir()
        large.write_text(f'#!/bin/sh\n[ "$1" = show ] && yes figure | head -c 1100000\nexec "{scratch() / "bin/dyno"}" "$@"\n')
        large.chmod(0o755)
        job = Job(self.server, "large-summary", pull=False)
        code, said = job.run(dyno=str(large), **{"allow-undecided": "true"})
        self.assertEqual(code, 0, said)
        self.assertLess(len(job.summary().encode()), 1 << 20)
        self.assertIn("GitHub shows no summary above 1 MiB", job.summary())
        self.assertIn("most arrive", job.summary())

    def test_every_failure_says_what_to_do(self):
        job = Job(self.server, "wrong", pull=False)
        for inputs, code, text in (
            ({"suite": "none.toml"}, 1, "the suite none.toml could not be measured"),
            ({"limits": "none.toml"}, 1, "the limits none.toml cannot be checked"),
            ({"dyno": "/bin/false"}, 1, "/bin/false does not run"),
            ({"releases": f"{self.server.url}/nothing"}, 1, "use the input 'dyno: source'"),
            ({"prepare": "false"}, 1, "could not be measured (code 1)"),
        ):
            found, said = job.run(**inputs)
            self.assertEqual(found, code, said)
            self.assertIn("::error title=Dyno::", said)
            self.assertIn(text, said)
        with self.subTest("an archive that somebody changed"):
            good = self.server.files
            self.server.files = {name: content + b"x" if name.endswith(".gz") else content for name, content in good.items()}
            code, said = job.run()
            self.server.files = good
            self.assertEqual(code, 1, said)
            self.assertIn("is not what SHA256SUMS says", said)

    def test_inputs_reach_the_shell_as_values_only(self):
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        for step in action["runs"]["steps"]:
            self.assertNotIn("${{", step["run"])
        job = Job(self.server, "hostile", pull=False)
        code, said = job.run(suite="load.toml; touch owned", stacks="$(touch owned)", arguments="`touch owned` *")
        self.assertNotEqual(code, 0)
        self.assertFalse((job.checkout / "owned").exists(), said)


if __name__ == "__main__":
    unittest.main()
