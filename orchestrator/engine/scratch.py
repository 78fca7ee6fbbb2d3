"""Temporary folders of a run's studies: each removes its own, and the driver those of processes that could not."""

import hashlib
import shutil
import tempfile
from pathlib import Path


def scratch_prefix(journals: Path) -> str:
    """How the names of a run's temporary folders begin, by the folder of its journals."""
    return f"orchestrate-{hashlib.sha256(str(journals.resolve()).encode()).hexdigest()[:12]}-"


def remove_scratch(journals: Path) -> None:
    """Remove what the processes of a run left on this machine; they must have ended."""
    for left in Path(tempfile.gettempdir()).glob(f"{scratch_prefix(journals)}*"):
        shutil.rmtree(left, ignore_errors=True)
