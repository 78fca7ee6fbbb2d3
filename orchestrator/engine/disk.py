"""The way of what was written to the disk, beside the process that wrote it: who waits for a disk computes nothing."""

import os
import threading
from queue import SimpleQueue


class Disk:
    """Brings what was written to a descriptor to the disk, in a thread that begins with the first of it.

    Two queues cost less than an executor, whose price shows where a trial takes a few milliseconds.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._arrived: SimpleQueue[BaseException | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._under_way = False

    def begin(self) -> None:
        """Start with what was written until now; nothing else may be under way."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="disk", daemon=True)
            self._thread.start()
        self._wanted.put(True)
        self._under_way = True

    def _work(self) -> None:
        while self._wanted.get():
            try:
                os.fsync(self._fd)
            except BaseException as error:  # for who waits
                self._arrived.put(error)
            else:
                self._arrived.put(None)

    def wait(self) -> None:
        """Return when it is there; raises what the disk says."""
        if self._under_way:
            error = self._arrived.get()
            self._under_way = False
            if error is not None:
                raise error

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._wanted.put(False)
            self._thread.join()
            self._thread = None
