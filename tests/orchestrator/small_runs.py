"""Small campaigns that the tests of every room start from."""

from pathlib import Path
from typing import Any

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine import runner

HERE = Path(__file__).parent
"""Where objectives of the tests' own are imported from."""
PLAN = {
    "name": "reported",
    "description": "Lies < & > truths.",
    "objective": "forrester",
    "algorithms": ["gp-ucb", "a2-rcgp-ucb", "random"],
    "adversaries": [{"name": "clairvoyant", "budget": 2, "low": -10.0, "high": 25.0}],
    "seeds": 2,
    "trials": 8,
    "initial": 4,
    "tracking": {"enabled": False},
}


def started(folder: Path, plan: dict[str, Any] = PLAN, **changes: Any) -> Run:
    """A run of `plan` with some keys changed, before its first trial."""
    return runner.start(Campaign.from_dict(plan | changes), root=folder, paths=[str(HERE)])


def finished(folder: Path, plan: dict[str, Any] = PLAN, **changes: Any) -> Run:
    """The same, run to its end in this process."""
    run = started(folder, plan, **changes)
    assert not runner.execute(run, ray=False).errors
    return run


def cut_short(run: Run, study: Study, trials: int) -> None:
    """Leave of a study's journal what was there when so many trials had come back; nothing at all for 0."""
    lines, path = [], run.journal(study)
    for line in path.read_bytes().splitlines(keepends=True) if trials else []:
        lines.append(line)
        trials -= b'"kind":"observation"' in line
        if not trials:
            break
    path.write_bytes(b"".join(lines))
