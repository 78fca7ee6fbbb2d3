"""An objective whose driver is slow to leave, as on a busy machine."""

import atexit
import time

from havoc import Havoc

__all__ = ["Havoc"]

SECONDS = 5.0
atexit.register(time.sleep, SECONDS)
