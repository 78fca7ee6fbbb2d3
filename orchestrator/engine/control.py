"""Ray's control process (GCS), watched from the driver: when it is gone for good Ray ends the driver after a minute."""

import socket
import threading
import time
from collections.abc import Callable

from orchestrator.errors import UserError

POLL_SECONDS = 1.0
ANSWER_SECONDS = 1.0
OWN_GRACE = 3.0
"""Seconds without an answer from a Ray that this driver started: nobody brings its control process back."""
JOINED_GRACE = 30.0
"""The same for a Ray that others run, who may bring it back; Ray itself waits for 60."""
GOODBYE_SECONDS = 20.0
"""For the goodbye to a Ray without its control process, which takes about 7."""
NODE_SECONDS = 2.0


class ControlLostError(UserError):
    """The control process answers no more."""


class ControlProcess:
    """Where Ray's control process listens, and since when it does not."""

    def __init__(self, address: str, grace: float) -> None:
        host, _, port = address.rpartition(":")
        self._address, self._grace = (host.strip("[]"), int(port)), grace
        self._looked = time.monotonic()
        self._silent_since: float | None = None

    def check(self) -> None:
        """Look, at most once a second; raises when there was no answer for too long."""
        now = time.monotonic()
        if now - self._looked < POLL_SECONDS:
            return
        self._looked = now
        if self.answers():
            self._silent_since = None
            return
        self._silent_since = now if self._silent_since is None else self._silent_since
        if time.monotonic() - self._silent_since > self._grace:
            raise ControlLostError("its control process (GCS) is gone")

    def answers(self) -> bool:
        """Whether it listens now."""
        try:
            socket.create_connection(self._address, timeout=ANSWER_SECONDS).close()
        except OSError:
            return False
        return True


class NodeWatch:
    """Looks every now and then whether Ray lost a node, which it notices within about 20 s.

    In a thread of its own: whoever asks a Ray without its control process waits, and is ended by Ray after a minute. So
    nobody asks one that does not answer.
    """

    def __init__(self, control: ControlProcess, is_gone: Callable[[], bool]) -> None:
        self.gone = False
        self._control, self._is_gone, self._closed = control, is_gone, threading.Event()
        threading.Thread(target=self._watch, name="node watch", daemon=True).start()

    def _watch(self) -> None:
        while not self._closed.wait(NODE_SECONDS) and not self.gone:
            self.gone = self._control.answers() and self._is_gone()

    def close(self) -> None:
        """Look no more."""
        self._closed.set()


def leave_without_control() -> None:
    """End this process's part in a Ray that cannot say goodbye any more; it has its time, and is then left behind."""
    import ray

    goodbye = threading.Thread(target=ray.shutdown, daemon=True)
    goodbye.start()
    goodbye.join(GOODBYE_SECONDS)
