"""Hostile hands: random campaigns, objectives, adversaries and kills in real processes, until the time is up.

An episode follows from its seed alone. HOSTILE_SEED=17 HOSTILE_SECONDS=1 lives through that one again.
"""

import os
import time
from itertools import count
from pathlib import Path

import pytest
from episodes.episode import Episode
from episodes.living import live
from harness import LONG, REMARKS, Row, enter_row

SECONDS = float(os.environ.get("HOSTILE_SECONDS", 3600 if LONG else 180))
FIRST = int(os.environ.get("HOSTILE_SEED", 0))
MOST = 5
"""Findings after which it stops looking for more."""


def test_whatever_people_write_and_do_a_run_keeps_its_promises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Episodes one after the other; every one that breaks a promise is named by its seed, at once and in the end."""
    deadline, findings, deeds, kills = time.monotonic() + SECONDS, [], 0, 0
    for seed in count(FIRST):
        episode = Episode.of(seed)
        try:
            survived = live(episode, tmp_path / str(seed))
        except AssertionError as broken:
            findings.append(f"HOSTILE_SEED={seed} ({episode.title}): {broken}")
            with capsys.disabled():
                print(findings[-1], flush=True)
        else:
            deeds, kills = deeds + survived.deeds, kills + survived.kills
        if time.monotonic() > deadline or len(findings) == MOST:
            break
    REMARKS.append(f"hostile hands: {seed + 1 - FIRST} episodes from seed {FIRST}, {deeds} misdeeds, {kills} kills")
    assert not findings, "\n\n".join(findings)
    enter_row(Row("hostile objectives, adversaries and campaigns", deeds))
    enter_row(Row("hostile kills of driver, workers and Ray's own", kills), at_least=0)
