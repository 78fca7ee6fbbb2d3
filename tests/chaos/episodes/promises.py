"""What must hold after an episode, read from outside: the journals as plain JSON, the processes, the files."""

import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import zoo
from harness import strike, title_of

from adversaries.budget import parse_budget
from episodes.episode import NAME, Episode
from episodes.sessions import marked, several

Record = dict[str, Any]
Trial = tuple[str, int, float]
"""An acknowledged trial: study, number, moment."""
BLAMELESS = ("time limit", "adversary", "Adversary", "killed", "SystemExit: 0", "process died", "once per process")
"""In the reason of a failure that is not the objective's; the last is torch after a time limit that cut its import."""
GRACE = 30.0
"""Seconds in which what a session started must have ended after it."""
AGENTS = 90.0
"""The same after a driver was killed: Ray's agents tell its control process, which is gone too, that their raylet died, and wait
a minute for an answer."""


def books(folder: Path) -> dict[str, list[Record]]:
    """The whole lines of every journal and ledger."""
    paths = (folder / "runs" / NAME / "journals").glob("*.jsonl")
    return {p.name.removesuffix(".jsonl"): [_parsed(line, p) for line in _whole_lines(p)] for p in paths}


def _whole_lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1]


def _parsed(line: bytes, path: Path) -> Record:
    try:
        return dict(json.loads(line))
    except ValueError:
        raise AssertionError(f"{path.name} holds {line[:200]!r}") from None


def settled(folder: Path) -> set[Trial]:
    """Every acknowledged trial."""
    every = ((study, record) for study, book in books(folder).items() for record in book)
    return {(study, r["number"], r["at"]) for study, r in every if r["kind"] == "observation"}


def check_ended(episode: Episode, folder: Path, code: int, acknowledged: set[Trial]) -> int:
    """The exit code is true, nothing acknowledged is gone, every study sound; returns the misdeeds lived through."""
    studies = {name: book for name, book in books(folder).items() if not name.endswith(".ledger")}
    grid = len(episode.campaign["algorithms"]) * len(episode.campaign["adversaries"])
    ended = [name for name, book in studies.items() if any(r["kind"] == "end" for r in book)]
    said = (folder / "log").read_text(errors="replace")
    assert (code == 0) == (len(ended) == grid), f"exit code {code}, but {len(ended)} of {grid} ended: {said[-2000:]}"
    assert acknowledged <= settled(folder), f"lost: {acknowledged - settled(folder)}"
    assert code == 0, f"exit code {code}; no study may end by what people's code does: {said[-2000:]}"
    return sum(check_study(episode, name, book) for name, book in studies.items())


def check_study(episode: Episode, name: str, book: list[Record]) -> int:
    """Each trial once and as its deed demands, no lie unpaid; returns the misdeeds it lived through."""
    total = episode.campaign["initial"] + episode.campaign["trials"]
    of: dict[str, list[Record]] = defaultdict(list)
    for record in book:
        of[record["kind"]].append(record)
    for kind in ("suggestion", "observation"):
        assert sorted(r["number"] for r in of[kind]) == list(range(total)), f"{name}: not one {kind} a trial"
    lies = [r["number"] for r in of["charge"] if r["corrupted"]]
    assert len(lies) == len(set(lies)) <= _allowance(episode, name), f"{name}: {len(lies)} lies"
    points = {r["number"]: r["x"] for r in of["suggestion"]}
    for seen in of["observation"]:
        assert seen["x"] == points[seen["number"]], f"{name}, trial {seen['number']}: its point was changed"
        failures = [r["reason"] for r in of["failure"] if r["number"] == seen["number"]]
        check_trial(f"{name}, trial {seen['number']}", episode, seen, failures)
    return sum(bool(episode.zoo.deed_at(x)) for x in points.values())


def check_trial(where: str, episode: Episode, seen: Record, failures: list[str]) -> None:
    """A number counts, nonsense fails as often as it may, and only who is to blame is blamed."""
    deed = episode.zoo.deed_at(seen["x"])
    expected = zoo.DEEDS[deed][1] if deed else zoo.End.VALUE
    blameless = any(word in reason for word in BLAMELESS for reason in failures)
    if seen["failed"]:
        assert len(failures) == episode.campaign["retries"] + 1, f"{where} ({deed}) failed by {failures}"
        assert all(failures), f"{where} ({deed}): a failure without a reason"
    if expected is zoo.End.FAILED:
        assert seen["failed"], f"{where}: {deed!r} must end in {expected.value}"
    if expected is zoo.End.VALUE and not blameless:
        assert not seen["failed"], f"{where}: {deed or 'nothing'!r} must end in {expected.value}; failed by {failures}"


def _allowance(episode: Episode, name: str) -> int:
    """How many lies the study's adversary may tell."""
    label, trials = name.split(".")[1], episode.campaign["trials"]
    (budget,) = [a["budget"] for a in episode.campaign["adversaries"] if a["label"] == label]
    return min(trials, parse_budget(budget).allowance(trials, trials))


def check_views(folder: Path) -> None:
    """Everybody who looks at what is left is answered, and a resume finds nothing to do."""
    looks = [["show", NAME], ["show", NAME, "--timing"], ["list"], ["report", NAME], ["resume", NAME, "--no-ray"]]
    before = settled(folder)
    for look, (code, output) in zip(looks, several(folder, looks), strict=True):
        assert code == 0, f"{' '.join(look)}: exit code {code}: {output[-2000:]}"
    assert settled(folder) == before, "the resume of a finished run ran something"


def check_left_behind(folder: Path, *, killed: bool) -> None:
    """No process, no file outside the run's folder and MLflow's store, nothing that its owner cannot read.

    A process that was killed leaves its scratch folder among the temporary files.
    """
    deadline = time.monotonic() + (AGENTS if killed else GRACE)
    while (left := marked(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    shown = [title_of(pid)[:100] for pid in left]
    for pid in left:
        strike(pid)
    assert not left, f"left behind: {shown}"
    files = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    strange = sorted(f for f in files if not _expected(f) and not (killed and f.startswith("tmp/orchestrate-")))
    assert not strange, f"written outside the run's folder: {strange}"
    shut = [f for f in files if f.startswith("runs/") and (folder / f).stat().st_mode & 0o600 != 0o600]
    assert not shut, f"modes that shut out their owner: {shut}"


def _expected(file: str) -> bool:
    """The run's own, MLflow's store, what the episode made itself, matplotlib's fonts and the token of a local Ray."""
    ours = (f"runs/{NAME}/", "runs/mlflow", "runs/mlartifacts", "broken", f"{NAME}.yaml", "log", "home/.ray/auth_token")
    return file.startswith(ours) or (file.startswith("home/") and "matplotlib" in file)
