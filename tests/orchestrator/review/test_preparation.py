"""What a report is drawn with is loaded while the studies run, in a thread, once."""

import subprocess
import sys
import threading

from orchestrator.review import preparation
from orchestrator.review.preparation import DRAWING, Preparation

DRAWN_WITH = f"""
import sys
from orchestrator.review.preparation import Preparation
from orchestrator.review import figures, page
assert not [name for name in {DRAWING} if name in sys.modules], "loading it is what takes long"
prepared = Preparation()
prepared.on_events(None, [])
prepared.close()
assert not [name for name in {DRAWING} if name not in sys.modules]
"""


def test_nothing_is_left_to_load_when_the_studies_are_over():
    subprocess.run([sys.executable, "-c", DRAWN_WITH], check=True)


def test_it_begins_once_keeps_nobody_and_is_there_in_the_end(monkeypatch):
    loaded, go = [], threading.Event()
    monkeypatch.setattr(preparation, "load_drawing", lambda: loaded.append(go.wait(10.0)))
    prepared = Preparation()
    for _ in range(3):
        prepared.on_events(None, [])
    assert loaded == []
    go.set()
    prepared.close()
    assert loaded == [True]


def test_a_run_without_a_trial_prepares_nothing():
    Preparation().close()
