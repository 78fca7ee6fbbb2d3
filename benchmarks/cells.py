"""The cells of a table, each computed once: their rows are in a file, to which those that are missing are added as they come."""

import json
import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

Rows = dict[str, dict[str, Any]]
"""Rows by the keys of their cells."""
C = TypeVar("C")


class Keyed(Protocol):
    """A cell that its row can be found by."""

    @property
    def key(self) -> str: ...


K = TypeVar("K", bound=Keyed)


def load(path: Path) -> Rows:
    """The rows that are there."""
    if not path.exists():
        return {}
    return {row["key"]: row for row in map(json.loads, path.read_text().splitlines())}


def compute(
    run: Callable[[C], dict[str, Any]],
    todo: Sequence[C],
    path: Path,
    processes: int,
    *,
    chunk: int = 1,
    name: str = "runs",
) -> None:
    """Add the rows of these cells, each by `run`, a function at the top of its module; processes get `chunk` at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as sink, multiprocessing.get_context("spawn").Pool(processes) as pool:
        for done, row in enumerate(pool.imap_unordered(run, todo, chunksize=chunk), 1):
            sink.write(json.dumps(row) + "\n")
            sink.flush()
            if done % 20 == 0 or done == len(todo):
                print(f"{done} of {len(todo)} {name}", flush=True)


def complete(
    run: Callable[[K], dict[str, Any]],
    cells: Iterable[K],
    path: Path,
    processes: int,
    *,
    chunk: int = 1,
    name: str = "runs",
) -> Rows:
    """All rows of the file, once those of these cells that were missing are there."""
    rows = load(path)
    todo = [cell for cell in cells if cell.key not in rows]
    print(f"{len(todo)} {name} to do, {len(rows)} known in {path}", flush=True)
    if todo:
        compute(run, todo, path, processes, chunk=chunk, name=name)
    return load(path) if todo else rows
