"""The story of docs/evidence.md, lived through: every command on the page, in its order."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli import app
from orchestrator.review.webpage import data_of

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"


def test_every_command_of_the_story_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATE_ROOT", str(tmp_path))
    monkeypatch.setenv("ORCHESTRATE_TRACKING", "0")
    monkeypatch.setenv("ORCHESTRATE_IMAGE", "lab/night:7")
    lines = [line for text in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) for line in text.splitlines()]
    assert len(lines) == 8
    said = ""
    for line in lines:
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}: {done.output}"
        said += done.output
    assert "70/70 trials" in said, "what was asked for on top belongs to the plan"
    assert re.search(r"\d of \d suspects ran on machine-0 \(of \d+ trials there\), elsewhere", said), (
        "as the page tells it"
    )
    assert "Trial 16 of a2-rcgp-ucb.bad-reporter.seed7 is a lie. Next: orchestrate resume bad-node" in said
    assert re.search(r"Use x1=.*95 %: .* from \d+ runs? on \d machines?; with probability [\d.]+ the best", said)
    found = json.loads((tmp_path / "bad-node/report/forensics.json").read_text())
    ruled = {r["number"]: (r["ruling"], r["because"]) for r in found["rulings"]}
    assert ruled == {16: ("lie", "the disk was full"), 12: ("true", "I ran it by hand"), 9: ("again", "it was so hot")}
    (sixteen,) = [s for s in found["suspects"] if s["trial"] == 16]
    assert sixteen["weight"] < 0.5
    assert {r["reporter"] for r in found["reporters"]} == {f"machine-{i}" for i in range(5)}
    trials = (tmp_path / "bad-node/report/trials.csv").read_text().splitlines()
    assert len(trials) - 1 == 65 + 1 + 4
    assert "lab/night:7" in str(data_of((tmp_path / "bad-node/report/report.html").read_text()))
