"""The journal: what happened in a study, one checked line per event, on disk before anyone else learns of it.

A line is a JSON object whose first member is the CRC-32 of the rest, so that a person can read it and a machine can
tell damage from truth. A process that dies while writing leaves a torn last line, which was never acknowledged and is
cut off; any other damage is refused. CRCs find accidents, not attackers.
"""

import json
import os
import time
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from orchestrator.campaign.lock import InUseError, close_lock, take_lock
from orchestrator.campaign.study import Study, differences
from orchestrator.engine.disk import Disk
from orchestrator.engine.events import FORMAT, Event, Header, Request, UnknownEventError, from_json, to_json
from orchestrator.errors import UserError
from orchestrator.plain import Json

LOCK_TIMEOUT = 30.0
"""Seconds that the processes of a driver that just died may take to let go of a journal."""
_PREFIX = b'{"crc":"xxxxxxxx",'
_STRICT = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


class JournalError(UserError):
    """A journal that cannot be read or written; the message names the file."""


class Journal(Protocol):
    """Where a study's events go: a file here, or one kept by an actor on the driver's node."""

    path: Path
    events: list[Event]
    """What was in the journal when it was opened."""
    seconds: float
    """Time spent writing, for whoever wants to know what safety costs."""

    def append(self, *events: Event, sync: bool = True, wait: bool = True) -> None:
        """Write the events; with `sync` they are on disk when this returns, without it they survive the process.

        Who does not `wait` may think meanwhile: they are on disk before anything else is written, or `settle` returns.
        """

    def settle(self) -> None:
        """Return when all that was to be on disk is there."""

    def requests(self) -> list[Request]:
        """What people asked of the study since the last call; the first one finds all they ever did."""

    def close(self) -> None:
        """Let go of the file."""


def requests_path(journal: Path) -> Path:
    """Where people leave what they ask of the study with that journal."""
    return journal.parent.parent / "requests" / journal.name


def read_requests(journal: Path) -> list[Request]:
    """Everything people ever asked of the study with that journal, in order."""
    path = requests_path(journal)
    return only_requests(read(path)) if path.exists() else []


def only_requests(events: Iterable[Event]) -> list[Request]:
    """The requests among events, in order."""
    return [event for event in events if isinstance(event, Request)]


def encode(seq: int, event: Event) -> bytes:
    """One line: checksum, sequence number, event."""
    body = _STRICT.encode({"seq": seq} | to_json(event)).encode()[1:]
    return b'{"crc":"%08x",%s\n' % (zlib.crc32(body), body)


def decode(line: bytes) -> Json | None:
    """What is in a line without its newline, or None when the line is damaged."""
    return decode_all([line])[0] if _is_sound(line) else None


def decode_all(lines: Sequence[bytes]) -> list[Json]:
    """What is in sound lines without their newlines; read as one text, which is quicker than one by one."""
    data: list[Json] = json.loads(b"[%s]" % b",".join(lines))
    return data


def _is_sound(line: bytes) -> bool:
    """Whether a line without its newline is what was once written."""
    checked = b"%08x" % zlib.crc32(line[len(_PREFIX) :])
    return line[:8] == _PREFIX[:8] and line[16:18] == _PREFIX[16:] and line[8:16] == checked


def parse(data: bytes, path: Path) -> tuple[list[Event], int]:
    """The events in `data` and the length of the sound part; damage other than a torn tail is refused."""
    *lines, tail = data.split(b"\n")
    sound = next((number for number, line in enumerate(lines) if not _is_sound(line)), len(lines))
    events = [_event(number, found, path) for number, found in enumerate(decode_all(lines[:sound]))]
    if sound < len(lines):
        raise _damaged(sound, path)
    if tail and decode(tail[:-1]) is not None:  # a whole event and one wrong byte is damage, not a torn write
        raise JournalError(f"{path}, line {len(lines) + 1}: damaged (its newline). Restore the file from a copy.")
    return events, len(data) - len(tail)


def _event(seq: int, data: Json, path: Path) -> Event:
    if data["seq"] != seq:
        raise _damaged(seq, path)
    try:
        return from_json(data)
    except (UnknownEventError, KeyError) as error:
        raise JournalError(f"{path}, line {seq + 1}: written by another version of this program ({error}).") from None


def _damaged(seq: int, path: Path) -> JournalError:
    return JournalError(
        f"{path}, line {seq + 1}: damaged (checksum or sequence). Restore the file from a copy, or remove it to run"
        " this study from the start."
    )


def read(path: Path) -> list[Event]:
    """The acknowledged events of a journal, without touching the file."""
    try:
        return parse(path.read_bytes(), path)[0]
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror}).") from error


class FileJournal:
    """An open journal file; its lock keeps a second writer out."""

    def __init__(self, path: Path, *, lock_timeout: float = 0.0) -> None:
        self.path, self._name = path, os.fspath(path)
        self.seconds = 0.0
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise JournalError(f"{path}: cannot be opened ({error.strerror}).") from error
        try:
            take_lock(self._fd, path, lock_timeout)
            self.events, self._size = parse(path.read_bytes(), path)
            os.ftruncate(self._fd, self._size)
            _sync_folder(path.parent)  # a new file is only there once its folder says so
        except InUseError as error:
            os.close(self._fd)
            raise JournalError(str(error)) from None
        except BaseException:
            close_lock(self._fd)
            raise
        self._seq, self._disk, self._safe = len(self.events), Disk(self._fd), self._size
        self._requests = Tail(requests_path(path))

    def append(self, *events: Event, sync: bool = True, wait: bool = True) -> None:
        """Write the events in one piece and, with `sync`, bring them to the disk: now or, without `wait`, before the next."""
        self.append_lines(encode_all(self._seq, events), self._seq, sync and wait)
        if sync and not wait:
            self._disk.begin()

    def settle(self) -> None:
        """Wait for what is on its way to the disk; what did not arrive there is taken back."""
        start = time.perf_counter()
        try:
            self._disk.wait()
        except OSError as error:
            raise self._refused(error) from error
        self._safe = self._size
        self.seconds += time.perf_counter() - start

    def append_lines(self, lines: list[bytes], seq: int, sync: bool = True) -> None:
        """Write lines numbered from `seq`; lines that are here already are not written again."""
        self.settle()
        start = time.perf_counter()
        fresh = self._unseen(lines, seq)
        data = b"".join(fresh)
        self._check_place()
        try:
            written = os.write(self._fd, data) if data else 0
            if written < len(data):
                raise OSError(28, "No space left on device")
            if sync:
                os.fsync(self._fd)
        except OSError as error:
            raise self._refused(error) from error
        self._size += len(data)
        self._seq += len(fresh)
        self.seconds += time.perf_counter() - start

    def _check_place(self) -> None:
        """A file that was deleted or moved can be written to, and nobody would find it again."""
        try:
            there = os.path.samestat(os.stat(self._name), os.fstat(self._fd))
        except OSError:
            there = False
        if not there:
            raise JournalError(f"{self.path}: was moved or deleted while the study ran; put it back, then resume.")

    def _unseen(self, lines: list[bytes], seq: int) -> list[bytes]:
        """A retried append may arrive twice; one from a writer that was replaced must not arrive at all."""
        known = self._seq - seq
        if known == 0:
            return lines
        if known < 0 or self.path.read_bytes().split(b"\n")[seq : self._seq] != [x[:-1] for x in lines[:known]]:
            raise JournalError(f"{self.path}: another writer has moved on to event {self._seq}; this one stops.")
        return lines[known:]

    def _refused(self, error: OSError) -> JournalError:
        """Leave nothing behind that the disk did not take; where even that fails the next reader repairs it."""
        with suppress(OSError):
            os.ftruncate(self._fd, self._safe)
        return JournalError(f"{self.path}: cannot be written ({error.strerror}); all before it is safe.")

    def requests(self) -> list[Request]:
        """What people asked since the last call."""
        return only_requests(self._requests.fresh())

    def close(self) -> None:
        """Let go of the file and its lock, once all of it is on disk."""
        try:
            self.settle()
        finally:
            self._disk.close()
            close_lock(self._fd)


def encode_all(seq: int, events: Iterable[Event]) -> list[bytes]:
    """Lines for events numbered from `seq`."""
    return [encode(seq + i, event) for i, event in enumerate(events)]


class Tail:
    """Reads what was added to a journal since the last look; for those who watch, not for those who resume."""

    def __init__(self, path: Path) -> None:
        self.path, self._name = path, os.fspath(path)
        self._offset = 0

    def fresh(self) -> list[Event]:
        """The whole events that appeared since the last call."""
        if _size(self._name) in (None, self._offset):
            return []
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        end = data.rfind(b"\n") + 1
        sound = [line for line in data[:end].splitlines() if _is_sound(line)]
        events = [from_json(found) for found in decode_all(sound)]
        self._offset += end  # last: a look that fails is repeated
        return events


def _size(name: str) -> int | None:
    """The length of a file; None while there is none. Asked for every trial, several times a second for every study."""
    try:
        return os.stat(name).st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def check_header(event: Event, study: Study, path: Path) -> None:
    """Refuse a journal that was kept by another study, with the difference."""
    if not isinstance(event, Header) or event.format != FORMAT:
        raise JournalError(f"{path}: not a journal of format {FORMAT}; it was written by another version.")
    if event.fingerprint != study.fingerprint():
        changed = "; ".join(differences(event.study, study.to_dict()))
        raise UserError(
            f"{path}: the study was changed since it started ({changed}). Undo that, or run under a new name."
        )


def header(study: Study) -> Header:
    """The first event of a study's journal."""
    return Header(study.fingerprint(), study.to_dict())


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
