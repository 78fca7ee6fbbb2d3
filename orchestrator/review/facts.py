"""What was run, when, for how long and with what: all that is needed to run it again."""

import math
from datetime import UTC, datetime, timedelta

import yaml

from orchestrator.errors import redacted
from orchestrator.review.report import Report
from orchestrator.review.timing import Session, sessions


def campaign_yaml(report: Report) -> str:
    """The campaign as a file that can be run again, without the credentials its addresses may carry."""
    return redacted(yaml.safe_dump(report.campaign.to_dict(), sort_keys=False, allow_unicode=True))


def facts(report: Report) -> dict[str, str]:
    """Date, duration, outcome, versions and commit, as far as they are known."""
    kept = sessions(report.run) if report.run else []
    known = {"started": _started(report, kept), "took": _took(report, kept), "state": report.state or "complete"}
    if len(kept) > 1:
        known["sessions"] = f"{len(kept)}: {', '.join(s.outcome or 'cut off or under way' for s in kept)}"
    made_with = {f"{name} {version}": "" for s in kept for name, version in s.versions.items()}
    commits = {s.commit: "" for s in kept if s.commit}
    images = {s.image: "" for s in kept if s.image}
    texts = {"versions": ", ".join(made_with), "commit": ", ".join(commits), "image": ", ".join(images)}
    return known | {key: text for key, text in texts.items() if text}


def _started(report: Report, kept: list[Session]) -> str:
    at = min([s.started for s in kept] or report.frame["at"].tolist() or [0.0])
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _took(report: Report, kept: list[Session]) -> str:
    """The time of all sessions, or of all trials where no session left its marks."""
    at = report.frame["at"].tolist() or [0.0]
    later = [*(session.started for session in kept), math.inf][1:]
    spans = [_span(session, until, at) for session, until in zip(kept, later, strict=False)]
    seconds = sum(spans) if spans else max(at) - min(at)
    return str(timedelta(seconds=round(seconds))) if seconds >= 60 else f"{seconds:.1f} s"


def _span(session: Session, until: float, at: list[float]) -> float:
    """The seconds of a session; of one that was cut off, up to its last trial."""
    last = max((moment for moment in at if session.started <= moment < until), default=session.started)
    return (session.ended or last) - session.started
