"""The way of what was written to the disk, beside the process that wrote it: who waits for a disk computes nothing."""

import os
from concurrent.futures import Future, ThreadPoolExecutor


class Disk:
    """Brings what was written to a descriptor to the disk, in a thread that begins with the first of it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._thread: ThreadPoolExecutor | None = None
        self._under_way: Future[None] | None = None

    def begin(self) -> None:
        """Start with what was written until now; nothing else may be under way."""
        self._thread = self._thread or ThreadPoolExecutor(1, "disk")
        self._under_way = self._thread.submit(os.fsync, self._fd)

    def wait(self) -> None:
        """Return when it is there; raises what the disk says."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.result()

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
