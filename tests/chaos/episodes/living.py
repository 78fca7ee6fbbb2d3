"""Living through an episode: run, struck, resumed to the end, looked at, and held to every promise."""

import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import descendants, strike, title_of

from episodes.episode import DRIVER, NAME, RAYS_OWN, WORKER, Episode, Strike, to_yaml
from episodes.promises import Trial, check_ended, check_left_behind, check_views, settled
from episodes.refusals import check_refusals
from episodes.sessions import Session, orchestrate

PATIENCE = 300.0
"""Seconds after which a session that neither gets anywhere nor ends is a finding."""


@dataclass
class Survived:
    """What an episode lived through so far."""

    deeds: int = 0
    kills: int = 0
    acknowledged: set[Trial] = field(default_factory=set)


def live(episode: Episode, folder: Path) -> Survived:
    """Live through an episode in a folder of its own; a promise that is broken is an AssertionError."""
    for part in ("home", "tmp"):
        (folder / part).mkdir(parents=True)
    (folder / f"{NAME}.yaml").write_text(to_yaml(episode.campaign))
    survived, options = Survived(), [] if episode.ray else ["--no-ray"]
    code = _session(episode, folder, ["run", f"{NAME}.yaml", *options], survived)
    while code in (130, -signal.SIGKILL):
        code = _session(episode, folder, ["resume", NAME, *options], survived)
    survived.deeds = check_ended(episode, folder, code, survived.acknowledged)
    check_views(folder)
    check_refusals(random.Random(episode.seed), episode.campaign, folder)
    check_left_behind(folder, killed=any(blow.sign == signal.SIGKILL for blow in episode.strikes))
    return survived


def _session(episode: Episode, folder: Path, arguments: list[str], survived: Survived) -> int:
    """One session, struck when its moment comes; returns its exit code."""
    session, struck, ends = orchestrate(folder, *arguments), False, {0, 1}
    for blow in episode.strikes[survived.kills : survived.kills + 1]:
        survived.kills += 1
        struck = _await_and_strike(blow, session)
        if struck and blow.target == DRIVER:
            ends |= {-signal.SIGKILL if blow.sign == signal.SIGKILL else 130}
    code = session.wait(PATIENCE)
    survived.acknowledged |= settled(folder)
    assert code in ends, f"{arguments[0]}: exit code {code}, not one of {sorted(ends)}: {session.said[-2000:]}"
    return code


def _await_and_strike(blow: Strike, session: Session) -> bool:
    """Whether there was somebody to strike when the moment came."""
    deadline = time.monotonic() + PATIENCE
    while len(settled(session.folder)) < blow.settled and time.monotonic() < deadline:
        if session.process.poll() is not None:
            return False
        time.sleep(0.02)
    if blow.target == DRIVER:
        return session.process.poll() is None and strike(session.process.pid, blow.sign)
    return any(strike(pid, blow.sign) for pid in _targets(blow.target, session.process.pid)[:1])


def _targets(target: str, driver: int) -> list[int]:
    """The workers below a driver, or whoever runs that program of Ray's; its agents call themselves like workers."""
    named = {pid: title_of(pid).partition(" ")[0] for pid in descendants(driver)}
    if target == WORKER:
        return [pid for pid, name in named.items() if name.startswith("ray::") and name not in (*RAYS_OWN, "ray::IDLE")]
    return [pid for pid, name in named.items() if name.endswith(target)]
