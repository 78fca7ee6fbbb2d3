"""What a file, a name or a neighbour on the network may not do. (CRCs find accidents; these are the locks.)"""

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from small_runs import finished

from orchestrator import cli
from orchestrator.campaign.campaign import Campaign, check_name
from orchestrator.campaign.runs import Run
from orchestrator.errors import UserError
from orchestrator.launch.cluster_file import SECRETS
from orchestrator.review.files import write_files
from orchestrator.review.report import Report
from orchestrator.review.webpage import data_of
from orchestrator.tracking import server
from orchestrator.tracking.follower import Follower

ROOT = Path(__file__).parents[2]
ROOMS = ("rcgp", "objectives", "adversaries", "orchestrator")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
QUICK = ["--no-ray", "--seeds", "1", "--trials", "2", "--algorithms", "random"]


def command(folder: Path, *arguments: str, before: str = "") -> subprocess.CompletedProcess:
    """The command line in a process of its own, after some Python."""
    script = f"import sys\n{before}\nsys.argv[0] = 'orchestrate'\nfrom orchestrator.cli import main\nmain()"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )


# --- files ------------------------------------------------------------------------------------------------------------

EVIL = "!!python/object/apply:os.mkdir [{marker}]"


@pytest.mark.parametrize("where", ["run", "check", "resume"])
def test_yaml_runs_no_code(where, tmp_path, monkeypatch, capsys):
    marker = tmp_path / "marker"
    file = tmp_path / "evil.yaml"
    file.write_text(f"objective: {EVIL.format(marker=marker)}\nalgorithms: random\ntrials: 2\n")
    arguments = {"run": ["run", str(file), "--no-ray"], "check": ["check", str(file)], "resume": ["resume", "plain"]}
    if where == "resume":
        campaign = Campaign.from_dict({"name": "plain", "objective": "forrester", "algorithms": "random", "trials": 2})
        (Run.create(tmp_path / "runs", "plain", campaign).folder / "campaign.yaml").write_text(file.read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["orchestrate", *arguments[where]])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert "could not determine a constructor" in capsys.readouterr().err
    assert not marker.exists()


def test_nothing_is_unpickled_when_a_run_resumes(tmp_path):
    campaign = "objective: forrester\nalgorithms: [random, a2-rcgp-ucb]\ntrials: 3\ntracking: {enabled: false}\n"
    (tmp_path / "c.yaml").write_text(campaign)
    stopped = command(tmp_path, "run", "c.yaml", "--no-ray", "--set", "limits.total_seconds=1e-9")
    assert stopped.returncode == 3, stopped.stderr
    spy = "sys.addaudithook(lambda event, args: event == 'pickle.find_class' and print('UNPICKLED', *args))"
    bait = "import pickle\npickle.loads(pickle.dumps(print))"
    resumed = command(tmp_path, "resume", "c", "--no-ray", before=f"{spy}\n{bait}")
    assert resumed.returncode == 3, resumed.stderr
    seen = [line for line in resumed.stdout.splitlines() if "UNPICKLED" in line]
    assert seen == ["UNPICKLED builtins print"], "the spy sees the bait, and nothing else"


def calls_in(path: Path):
    """Every call in a source: its dotted name and its keywords."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {k.arg: ast.unparse(k.value) for k in node.keywords}, node.lineno


def imports_in(path: Path) -> set[str]:
    tree = ast.walk(ast.parse(path.read_text()))
    plain = {alias.name.split(".")[0] for node in tree if isinstance(node, ast.Import) for alias in node.names}
    tree = ast.walk(ast.parse(path.read_text()))
    return plain | {str(n.module).split(".")[0] for n in tree if isinstance(n, ast.ImportFrom)}


def test_no_source_loads_what_could_be_code():
    for path in SOURCES:
        assert not imports_in(path) & {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}, path
        for name, keywords, line in calls_in(path):
            where = f"{path}, line {line}: {name}"
            assert name not in ("eval", "exec", "os.system", "os.popen", "yaml.unsafe_load", "yaml.full_load"), where
            assert keywords.get("shell") != "True", where
            assert name not in ("torch.load", "np.load") or {"weights_only", "allow_pickle"} & set(keywords), where
            if name == "torch.load":
                assert keywords["weights_only"] == "True", where
            if name == "np.load":
                assert keywords["allow_pickle"] == "False", where


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../x",
        "a/b",
        "/etc",
        "",
        ".hidden",
        "a..b",
        "a\0b",
        "a\nb",
        "~root",
        "a b",
        "-x",
        "=1+1",
        "+1",
        "@a",
        "<b>",
        "[red]",
        "x" * 101,
    ],
)
def test_names_stay_under_the_storage_root(name, tmp_path):
    with pytest.raises(UserError, match="must consist of"):
        check_name(name)
    with pytest.raises(UserError, match="must consist of"):
        Run.open(tmp_path, name)
    plan = {"objective": "forrester", "algorithms": [{"name": "random", "label": name}], "trials": 1}
    with pytest.raises(UserError, match="must consist of|label"):
        Campaign.from_dict({"name": "x"} | plan)


# --- the page ---------------------------------------------------------------------------------------------------------

BREAKOUT = "</script></p><script>alert(1)</script><img src=x onerror=alert(1)>"


class Elements(HTMLParser):
    """What a browser would see of a page: how often each element and handler is there."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.update([tag, *(name for name, _ in attrs if name.startswith("on"))])


def test_what_people_wrote_is_text_in_the_page(tmp_path):
    pages = []
    for name, words in (("plain", "plain"), ("evil", BREAKOUT)):
        plan = {"name": name, "description": words, "objective": "forrester", "algorithms": "random", "trials": 2}
        run = finished(tmp_path, plan | {"tracking": {"enabled": False}})
        pages.append(next(p for p in write_files(Report.of(run)) if p.suffix == ".html").read_text())
    plain, evil = map(Elements, pages)
    assert evil.seen == plain.seen, "no element and no handler more than in a page without it"
    assert "alert(1)" in json.dumps(data_of(pages[1])), "and it is there, as text"


# --- credentials ------------------------------------------------------------------------------------------------------


def test_a_password_in_the_tracking_address_reaches_no_log_and_no_file_that_others_read(tmp_path):
    uri = "http://someone:hunter2@127.0.0.1:9/"
    done = command(tmp_path, "run", "smoke", *QUICK, "--tracking-uri", uri)
    assert done.returncode == 0, done.stderr
    assert "hunter2" not in done.stdout + done.stderr
    files = [p for p in (tmp_path / "runs").rglob("*") if p.is_file()]
    assert any(p.suffix == ".log" for p in files), "the follower keeps one"
    holders = {p.name: p.stat().st_mode & 0o777 for p in files if b"hunter2" in p.read_bytes()}
    assert holders == {"campaign.yaml": 0o600, "run.json": 0o600}, "a resume needs it, and nobody else can read it"


def test_a_password_in_the_tracking_address_is_on_no_command_line(tmp_path):
    uri = "http://someone:hunter2@127.0.0.1:9/"
    plan = {"name": "x", "objective": "forrester", "algorithms": "random", "trials": 1, "tracking": {"uri": uri}}
    follower = Follower(Run.create(tmp_path, "x", Campaign.from_dict(plan)))
    try:
        while not (line := Path(f"/proc/{follower._process.pid}/cmdline").read_text()):
            assert follower._process.poll() is None  # the system has not filled it in yet
    finally:
        follower._process.kill()
        follower.close()
    assert "orchestrator.tracking.follower" in line
    assert "hunter2" not in line


def test_no_file_of_the_project_holds_a_secret():
    strong = [pattern for what, pattern in SECRETS.items() if what != "a secret"]
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.split("\n"):
        path = ROOT / name
        if not path.is_file() or Path(__file__).parent in path.parents or path.suffix in (".png", ".gif", ".jpg"):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            assert not any(re.search(p, line) for p in strong), f"{name}, line {number}"


# --- doors ------------------------------------------------------------------------------------------------------------


def test_no_source_and_no_cluster_file_listens_on_all_interfaces():
    assert server.HOST == "127.0.0.1"
    for path in [*SOURCES, *ROOT.glob("cluster*.yaml")]:
        assert "0.0.0.0" not in path.read_text(), path


PROBE = """
import json, os
from orchestrator.engine.cluster import connect
import ray
connect(None)
from ray._private.worker import _global_node
mode = os.environ.get("RAY_AUTH_MODE", "")
found = {"dashboard": _global_node.webui_url or "", "mode": mode, "address": ray.get_runtime_context().gcs_address}
print(json.dumps(found | {"processes": sorted(_global_node.all_processes)}))
ray.shutdown()
"""


@pytest.mark.ray
def test_a_ray_of_our_own_has_no_dashboard_and_asks_for_a_token(tmp_path):
    """Also when another Ray is announced in the environment: it must not be joined by accident."""
    clean = {k: v for k, v in os.environ.items() if k not in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")}
    environment = clean | {"OMP_NUM_THREADS": "1", "HOME": str(tmp_path), "RAY_ADDRESS": "127.0.0.1:1"}
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["dashboard"] == ""
    assert {"gcs_server", "raylet"} <= set(found["processes"]) <= {"gcs_server", "raylet", "reaper"}, "and no onlookers"
    assert found["mode"] == "token"
    assert not found["address"].endswith(":1")
