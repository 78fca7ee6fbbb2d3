"""What the journals of a run say so far: for those who resume it, show it or track it."""

from dataclasses import dataclass

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Observation, Study
from orchestrator.engine.journal import Record, observations, read


def records_of(run: Run, study: Study) -> list[Record]:
    """What happened in a study so far."""
    path = run.journal(study)
    return read(path) if path.exists() else []


def observations_of(run: Run, study: Study) -> list[Observation]:
    """The settled trials of a study so far."""
    return observations(records_of(run, study))


def unfinished(run: Run) -> list[Study]:
    """The studies that are not complete."""
    return [s for s in run.studies if not any(r["kind"] == "end" for r in records_of(run, s))]


@dataclass(frozen=True)
class Summary:
    """How far a study is, in a few figures."""

    done: int
    failed: int
    corrupted: int
    suspects: int
    fallbacks: int


def summary(run: Run, study: Study) -> Summary:
    """The figures of a study."""
    records = records_of(run, study)
    settled = observations(records)
    return Summary(
        done=len(settled),
        failed=sum(o.failed for o in settled),
        corrupted=len({r["number"] for r in records if r["kind"] == "charge" and r["corrupted"]}),
        suspects=sum(o.weight < 1 for o in settled),
        fallbacks=sum("fallback" in r for r in records),
    )
