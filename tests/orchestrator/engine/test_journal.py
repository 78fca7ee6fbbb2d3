"""The journal: what was acknowledged is there, what is damaged is refused, and nobody writes twice."""

import errno
import json
import math
import os
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest

from orchestrator.campaign.lock import Lock
from orchestrator.engine.events import Header, StudyEnded, TrialFailed, TrialSuggested
from orchestrator.engine.journal import FileJournal, JournalError, Tail, encode_all, read
from orchestrator.errors import UserError

EVENTS = [
    Header("0123456789abcdef", {"seed": 0, "adversary": {"options": {"value": -math.inf}}}),
    TrialSuggested(0, (0.1, 1 / 3), at=1.5),
    TrialFailed(0, 0, "caf\u00e9\n", at=2.5),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "study.jsonl"
    written = FileJournal(path)
    written.append(EVENTS[0])
    written.append(*EVENTS[1:])
    written.close()
    return path


def test_what_is_written_is_read_back_to_the_last_bit(path):
    assert read(path) == EVENTS
    assert [json.loads(line)["seq"] for line in path.read_text().splitlines()] == [0, 1, 2]


def test_a_line_is_strict_json_that_a_person_can_read(path):
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for line in path.read_text().splitlines():
        assert json.loads(line, parse_constant=refuse)["kind"]


def test_a_tail_torn_at_any_byte_is_cut_off_and_writing_goes_on(path):
    whole = path.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    passed = 0
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        reopened = FileJournal(path)
        assert reopened.events == EVENTS[:2]
        reopened.append(EVENTS[2])
        reopened.close()
        assert path.read_bytes() == whole
        passed += 1
    assert passed == len(whole) - start > 50


def test_reading_leaves_a_torn_file_as_it_is(path):
    torn = path.read_bytes()[:-5]
    path.write_bytes(torn)
    assert read(path) == EVENTS[:2]
    assert path.read_bytes() == torn


def test_any_flipped_bit_is_refused_with_path_and_line(path):
    whole = path.read_bytes()
    for i in range(len(whole)):
        damaged = bytearray(whole)
        damaged[i] ^= 1 << (i % 8)
        path.write_bytes(damaged)
        line = whole[:i].count(b"\n") + 1
        with pytest.raises(JournalError, match=rf"study.jsonl, line ({line}|{line + 1}): damaged"):
            FileJournal(path)
        assert path.read_bytes() == bytes(damaged), "a refused file must not be touched"


def test_a_missing_or_doubled_line_is_refused(path):
    first, second, third = path.read_bytes().splitlines(keepends=True)
    for lines in ([first, third], [first, second, second, third], [second, first, third]):
        path.write_bytes(b"".join(lines))
        with pytest.raises(JournalError, match="damaged"):
            read(path)


def test_a_second_writer_is_kept_out_and_let_in_afterwards(path):
    first = FileJournal(path)
    with pytest.raises(JournalError, match="another process is writing"):
        FileJournal(path)
    first.close()
    FileJournal(path).close()


def test_the_lock_timeout_outlasts_a_writer_that_is_about_to_leave(path):
    leaving = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"""
import time
import zlib
from pathlib import Path
from orchestrator.engine.journal import FileJournal
journal = FileJournal(Path({str(path)!r})); print("in", flush=True); time.sleep(1)""",
        ],
        stdout=subprocess.PIPE,
    )
    leaving.stdout.readline()
    FileJournal(path, lock_timeout=20.0).close()
    leaving.wait()


def test_a_repeated_append_is_written_once_and_a_stale_one_not_at_all(path):
    open_journal = FileJournal(path)
    more = [TrialFailed(0, 1, "again", at=3.5), StudyEnded(0, at=4.5)]
    lines = encode_all(3, more)
    open_journal.append_lines(lines, 3)
    open_journal.append_lines(lines, 3)
    open_journal.append_lines([lines[1]], 4)
    with pytest.raises(JournalError, match="moved on to event 5"):
        open_journal.append_lines(encode_all(4, EVENTS[:1]), 4)
    with pytest.raises(JournalError, match="moved on"):
        open_journal.append_lines(encode_all(9, EVENTS[:1]), 9)
    open_journal.close()
    assert read(path)[3:] == more


def test_a_full_disk_is_one_line_with_the_path_and_leaves_a_readable_file(path):
    code = f"""
import resource, signal
from pathlib import Path
from orchestrator.engine.events import TrialFailed
from orchestrator.engine.journal import FileJournal, JournalError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = FileJournal(Path({str(path)!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    while True:
        journal.append(TrialFailed(0, 0, "x" * 90, 0.0))
except JournalError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert str(path) in done.stdout
    assert "cannot be written" in done.stdout
    assert len(done.stdout.splitlines()) == 1
    data = path.read_bytes()
    assert data.endswith(b"\n"), "no torn record is left behind"
    assert len(read(path)) > 3


def test_a_follower_sees_only_whole_events_and_each_once(path):
    whole = path.read_bytes()
    path.write_bytes(b"")
    tail, seen = Tail(path), []
    for end in range(0, len(whole) + 1, 7):
        path.write_bytes(whole[:end])
        seen += tail.fresh()
    path.write_bytes(whole)
    seen += tail.fresh()
    assert seen == EVENTS
    assert Tail(path.with_name("none")).fresh() == []


def test_the_lock_says_who_holds_it(tmp_path):
    first = Lock(tmp_path / "lock")
    with pytest.raises(UserError, match=rf"in use by pid {os.getpid()} on "):
        Lock(tmp_path / "lock")
    first.close()
    Lock(tmp_path / "lock").close()


def test_appending_waits_for_the_disk_and_knows_what_that_cost(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), time.sleep(0.01)))
    opened = FileJournal(tmp_path / "j.jsonl")
    before = len(synced)
    opened.append(*EVENTS[:2])
    opened.append(EVENTS[2], sync=False)
    assert len(synced) == before + 1
    assert opened.seconds >= 0.01
    opened.close()


def test_who_does_not_wait_for_the_disk_does_so_before_anything_else_is_written(tmp_path, monkeypatch):
    opened, arrived = FileJournal(tmp_path / "j.jsonl"), threading.Event()
    monkeypatch.setattr(os, "fsync", lambda fd: arrived.wait(10.0))
    opened.append(EVENTS[0], wait=False)
    assert read(opened.path) == EVENTS[:1]  # it survives this process already
    later = threading.Thread(target=opened.append, args=EVENTS[1:2], kwargs={"sync": False})
    later.start()
    later.join(0.1)
    assert later.is_alive()
    assert read(opened.path) == EVENTS[:1]
    arrived.set()
    later.join()
    assert read(opened.path) == EVENTS[:2]
    opened.close()


@pytest.mark.parametrize("then", ["append", "settle", "close"])
def test_what_the_disk_refuses_meanwhile_is_taken_back_and_told(then, tmp_path, monkeypatch):
    opened = FileJournal(tmp_path / "j.jsonl")
    opened.append(EVENTS[0])

    def refuse(fd):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    opened.append(EVENTS[1], wait=False)
    calls = {"append": lambda: opened.append(EVENTS[2]), "settle": opened.settle, "close": opened.close}
    with pytest.raises(JournalError, match="cannot be written .Input/output error.; all before it is safe"):
        calls[then]()
    assert read(opened.path) == EVENTS[:1]
    opened.close()


def test_events_of_a_newer_version_are_refused_with_path_and_line(path):
    lines = path.read_bytes().splitlines(keepends=True)
    for kind, version in (("verdict", 1), ("failure", 2)):
        body = json.dumps({"seq": 3, "kind": kind, "version": version}, separators=(",", ":")).encode()[1:]
        path.write_bytes(b"".join(lines) + b'{"crc":"%08x",%s\n' % (zlib.crc32(body), body))
        with pytest.raises(JournalError, match=rf"study.jsonl, line 4: written by another version.*'{kind}'"):
            read(path)


@pytest.mark.parametrize("fate", ["deleted", "moved", "replaced"])
def test_a_journal_whose_file_is_gone_says_so_instead_of_writing_for_nobody(fate, path):
    journal = FileJournal(path)
    path.rename(path.with_name("elsewhere"))
    if fate == "replaced":
        path.touch()
    if fate == "deleted":
        path.with_name("elsewhere").unlink()
    with pytest.raises(JournalError, match="was moved or deleted while the study ran"):
        journal.append(EVENTS[1])
    journal.close()
