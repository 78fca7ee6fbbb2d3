"""One BLAS thread while an optimizer thinks.

Its matrices are small: threads gain little on an idle machine, and on a busy one they wait for each other ten times longer
than the work takes. One thread also rounds the same way everywhere, so that a journal replayed on another machine agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def one_blas_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function`, with the threads of NumPy's and SciPy's BLAS limited to one while it runs."""

    @wraps(function)
    def limited(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if all(library.num_threads == 1 for library in _libraries().lib_controllers):  # as in a process of Ray's
            return function(*args, **kwargs)
        with _libraries().limit(limits=1):  # of threads that overlap the first one's limit counts
            return function(*args, **kwargs)

    return limited


@cache
def _libraries() -> ThreadpoolController:
    """What is loaded when the first optimizer thinks: a search of 20 ms."""
    return ThreadpoolController().select(user_api="blas")
