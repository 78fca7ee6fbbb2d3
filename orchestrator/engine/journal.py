"""The journal: what happened in a study, one checked line per event, on disk before anyone else learns of it.

A line is a JSON object whose first member is the CRC-32 of the rest, so that a person can read it and a machine can
tell damage from truth. A process that dies while writing leaves a torn last line, which was never acknowledged and is
cut off; any other damage is refused. CRCs find accidents, not attackers.
"""

import json
import math
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from orchestrator.campaign.lock import InUseError, close_lock, take_lock
from orchestrator.campaign.study import Observation, Study, differences
from orchestrator.errors import UserError

Record = dict[str, Any]
FORMAT = 1
NON_FINITE = ("nan", "inf", "-inf")
_PREFIX = b'{"crc":"xxxxxxxx",'


class JournalError(UserError):
    """A journal that cannot be read or written; the message names the file."""


class Log(Protocol):
    """Where a study's events go: a file here, or one kept by an actor on the driver's node."""

    path: Path
    records: list[Record]
    """What was in the journal when it was opened."""
    seconds: float
    """Time spent writing, for whoever wants to know what safety costs."""

    def append(self, *records: Record, sync: bool = True) -> None:
        """Write the records; with `sync` they are on disk when this returns, without it they survive the process."""

    def close(self) -> None:
        """Let go of the file."""


def encode(seq: int, record: Record) -> bytes:
    """One line: checksum, sequence number, record."""
    body = json.dumps({"seq": seq} | record, separators=(",", ":"), allow_nan=False).encode()[1:]
    return b'{"crc":"%08x",%s\n' % (zlib.crc32(body), body)


def decode(line: bytes) -> Record | None:
    """The record in a line without its newline, or None when the line is damaged."""
    body = line[len(_PREFIX) :]
    if line[:8] != _PREFIX[:8] or line[16:18] != _PREFIX[16:] or line[8:16] != b"%08x" % zlib.crc32(body):
        return None
    record: Record = json.loads(line)
    del record["crc"]
    return record


def to_json(value: float) -> float | str:
    """JSON knows no NaN and no infinity: spell them."""
    return float(value) if math.isfinite(value) else str(float(value))


def parse(data: bytes, path: Path) -> tuple[list[Record], int]:
    """The records in `data` and the length of the sound part; damage other than a torn tail is refused."""
    records: list[Record] = []
    *lines, tail = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        record = decode(line)
        if record is None or record["seq"] != number - 1:
            raise JournalError(
                f"{path}, line {number}: damaged (checksum or sequence). Restore the file from a copy, or remove it to"
                " run this study from the start."
            )
        records.append(record)
    if tail and decode(tail[:-1]) is not None:  # a whole record and one wrong byte is damage, not a torn write
        raise JournalError(f"{path}, line {len(lines) + 1}: damaged (its newline). Restore the file from a copy.")
    return records, len(data) - len(tail)


def read(path: Path) -> list[Record]:
    """The acknowledged records of a journal, without touching the file."""
    try:
        return parse(path.read_bytes(), path)[0]
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror}).") from error


class FileJournal:
    """An open journal file; its lock keeps a second writer out."""

    def __init__(self, path: Path, *, patience: float = 0.0) -> None:
        self.path = path
        self.seconds = 0.0
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise JournalError(f"{path}: cannot be opened ({error.strerror}).") from error
        try:
            take_lock(self._fd, path, patience)
            self.records, self._size = parse(path.read_bytes(), path)
            os.ftruncate(self._fd, self._size)
            _sync_folder(path.parent)  # a new file is only there once its folder says so
        except InUseError as error:
            os.close(self._fd)
            raise JournalError(str(error)) from None
        except BaseException:
            close_lock(self._fd)
            raise
        self._seq = len(self.records)

    def append(self, *records: Record, sync: bool = True) -> None:
        """Write the records in one piece and, with `sync`, wait for the disk."""
        self.append_lines(encode_all(self._seq, records), self._seq, sync)

    def append_lines(self, lines: list[bytes], seq: int, sync: bool = True) -> None:
        """Write lines numbered from `seq`; lines that are here already are not written again."""
        start = time.perf_counter()
        fresh = self._unseen(lines, seq)
        data = b"".join(fresh)
        try:
            written = os.write(self._fd, data) if data else 0
            if written < len(data):
                raise OSError(28, "No space left on device")
            if sync:
                os.fsync(self._fd)
        except OSError as error:
            self._cut()
            raise JournalError(f"{self.path}: cannot be written ({error.strerror}); all before it is safe.") from error
        self._size += len(data)
        self._seq += len(fresh)
        self.seconds += time.perf_counter() - start

    def _unseen(self, lines: list[bytes], seq: int) -> list[bytes]:
        """A retried append may arrive twice; one from a writer that was replaced must not arrive at all."""
        known = self._seq - seq
        if known == 0:
            return lines
        if known < 0 or self.path.read_bytes().split(b"\n")[seq : self._seq] != [x[:-1] for x in lines[:known]]:
            raise JournalError(f"{self.path}: another writer has moved on to record {self._seq}; this one stops.")
        return lines[known:]

    def _cut(self) -> None:
        """Leave no half-written record behind; where even that fails the next reader repairs it."""
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            return

    def close(self) -> None:
        """Let go of the file and its lock."""
        close_lock(self._fd)


def encode_all(seq: int, records: Iterable[Record]) -> list[bytes]:
    """Lines for records numbered from `seq`."""
    return [encode(seq + i, record) for i, record in enumerate(records)]


class Tail:
    """Reads what was added to a journal since the last look; for those who watch, not for those who resume."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def fresh(self) -> list[Record]:
        """The whole records that appeared since the last call."""
        if not self.path.exists() or self.path.stat().st_size == self._offset:
            return []
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self._offset += end
        return [r for line in data[:end].splitlines() if (r := decode(line)) is not None]


def check_header(header: Record, study: Study, path: Path) -> None:
    """Refuse a journal that was kept by another study, with the difference."""
    if header.get("kind") != "header" or header.get("format") != FORMAT:
        raise JournalError(f"{path}: not a journal of format {FORMAT}; it was written by another version.")
    if header["fingerprint"] != study.fingerprint():
        changed = "; ".join(differences(header["study"], study.to_dict()))
        raise UserError(
            f"{path}: the study was changed since it started ({changed}). Undo that, or run under a new name."
        )


def header(study: Study) -> Record:
    """The first record of a study's journal."""
    return {"kind": "header", "format": FORMAT, "fingerprint": study.fingerprint(), "study": study.to_dict()}


def of_kind(records: Iterable[Record], *kinds: str) -> Iterator[Record]:
    """The records of these kinds, in order."""
    return (r for r in records if r["kind"] in kinds)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def to_record(observation: Observation) -> Record:
    """As the journal keeps it; the weight is not known yet and follows with the next suggestion."""
    record: Record = {
        "kind": "observation",
        "number": observation.number,
        "attempt": observation.attempt,
        "x": list(observation.x),
        "y": to_json(observation.y),
        "y_true": to_json(observation.y_true),
        "value": to_json(observation.value),
        "corrupted": observation.corrupted,
        "failed": observation.failed,
        "seconds": round(observation.seconds, 6),
        "node": observation.node,
        "at": time.time(),
    }
    steps = [[step, to_json(value)] for step, value in observation.progress]
    return record | ({"progress": steps} if steps else {})


def observations(records: list[Record]) -> list[Observation]:
    """The trials of a journal in the order they came back, each with its latest weight."""
    weights: dict[str, float] = {}
    for record in records:
        weights |= record.get("weights", {})
    return [_observation(r, weights) for r in records if r["kind"] == "observation"]


def _observation(record: Record, weights: dict[str, float]) -> Observation:
    return Observation(
        number=record["number"],
        x=tuple(record["x"]),
        y=float(record["y"]),
        y_true=float(record["y_true"]),
        value=float(record["value"]),
        corrupted=record["corrupted"],
        failed=record["failed"],
        weight=weights.get(str(record["number"]), 1.0),
        seconds=record["seconds"],
        node=record["node"],
        attempt=record["attempt"],
        at=record["at"],
        progress=tuple((step, float(value)) for step, value in record.get("progress", ())),
    )
