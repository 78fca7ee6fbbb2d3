"""One call in a thread of its own, for work that must not hold up the loop that started it."""

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """Makes `call` at once; `wait` for it, then fetch its `result`. A daemon: it never keeps a program from ending."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._returned: list[T] = []
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="suggestion", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._returned.append(self._call())
        except BaseException as error:  # handed to whoever fetches the result
            self._error = error

    def wait(self, seconds: float | None = None) -> bool:
        """Wait up to `seconds` (None: to the end); True when the call is over."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> T:
        """What the call returned; raises what it raised."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._returned[0]
