"""What a report is drawn with, loaded while the studies run: nobody has to wait for it in the end."""

import threading
from collections.abc import Sequence
from importlib import import_module

from orchestrator.campaign.study import Study
from orchestrator.engine.events import Event
from orchestrator.review.webpage import plotly_packed

DRAWING = ("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf")
"""A second of loading, most of it of these."""


class Preparation:
    """A listener that hears only that the first trials are on their way, and that the last came back."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def on_events(self, study: Study, events: Sequence[Event]) -> None:
        """Begin, once: now the processes are started, and the driver has nothing else to do."""
        if self._thread is None:
            self._thread = threading.Thread(target=load_drawing, name="preparation", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Who reports now needs all of it."""
        if self._thread is not None:
            self._thread.join()


def load_drawing() -> None:
    """Load what figures and pages are made with."""
    for module in DRAWING:
        import_module(module)
    plotly_packed()
