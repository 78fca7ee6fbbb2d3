"""A Ray of our own without the processes that only serve those who look at it.

On one machine, for one driver, nobody asks Ray's API server, its autoscaler has no machines to add, and its log monitor carries
output to a driver that wants none. Starting them takes three seconds of processor time, a second of them before anything else can
start, and no setting of `ray.init` leaves them out. A Ray of another version that knows these parts by other names starts whole.
"""

from collections.abc import Iterator
from contextlib import contextmanager

ONLOOKERS = ("start_api_server", "start_monitor", "start_log_monitor")


@contextmanager
def without_onlookers() -> Iterator[None]:
    """What `ray.init` starts in the block has none of them."""
    from ray._private import node

    whole = node.Node
    node.Node = type("SmallNode", (whole,), dict.fromkeys(ONLOOKERS, _nothing))
    try:
        yield
    finally:
        node.Node = whole


def _nothing(self: object, *args: object, **options: object) -> None:
    """Nobody is there to look."""
