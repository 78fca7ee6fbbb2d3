"""One BLAS thread while an optimizer thinks.

Its matrices are small: threads gain nothing on an idle machine, and on a busy one they wait for each other ten times longer
than the work takes. One thread also rounds the same way everywhere, so that a journal replayed on another machine agrees.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from functools import cache
from threading import Lock
from typing import Any

import numpy as np  # noqa: F401 - libraries are only found once they are loaded
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController


class _OneBlasThread(ContextDecorator):
    """The first to enter limits the process, the last to leave restores it: suggestions may overlap in threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # a search through all that is loaded, 20 ms


one_blas_thread = _OneBlasThread()
