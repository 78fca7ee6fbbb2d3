"""The journal: what was acknowledged is there, what is damaged is refused, and nobody writes twice."""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.campaign.lock import Lock
from orchestrator.engine import journal
from orchestrator.engine.journal import FileJournal, JournalError, Tail, encode, encode_all, read
from orchestrator.errors import UserError

RECORDS = [
    {"kind": "header", "study": {"seed": 0}},
    {"kind": "suggestion", "number": 0, "x": [0.1, 1 / 3]},
    {"kind": "observation", "number": 0, "y": "nan", "note": "\u00e9\n"},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "study.jsonl"
    written = FileJournal(path)
    written.append(RECORDS[0])
    written.append(*RECORDS[1:])
    written.close()
    return path


def plain(records):
    return [{k: v for k, v in r.items() if k != "seq"} for r in records]


def test_what_is_written_is_read_back_to_the_last_bit(path):
    assert plain(read(path)) == RECORDS
    assert [r["seq"] for r in read(path)] == [0, 1, 2]


def test_a_line_is_strict_json_that_a_person_can_read(path):
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for line in path.read_text().splitlines():
        assert json.loads(line, parse_constant=refuse)["kind"]


def test_non_finite_numbers_are_spelt():
    assert [journal.to_json(v) for v in (1.5, math.inf, -math.inf, math.nan)] == [1.5, "inf", "-inf", "nan"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(0, {"y": math.nan})


def test_a_tail_torn_at_any_byte_is_cut_off_and_writing_goes_on(path):
    whole = path.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    passed = 0
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        reopened = FileJournal(path)
        assert plain(reopened.records) == RECORDS[:2]
        reopened.append(RECORDS[2])
        reopened.close()
        assert path.read_bytes() == whole
        passed += 1
    assert passed == len(whole) - start > 50


def test_reading_leaves_a_torn_file_as_it_is(path):
    torn = path.read_bytes()[:-5]
    path.write_bytes(torn)
    assert plain(read(path)) == RECORDS[:2]
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


def test_patience_outlasts_a_writer_that_is_about_to_leave(path):
    leaving = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"""
import time
from pathlib import Path
from orchestrator.engine.journal import FileJournal
journal = FileJournal(Path({str(path)!r})); print("in", flush=True); time.sleep(1)""",
        ],
        stdout=subprocess.PIPE,
    )
    leaving.stdout.readline()
    FileJournal(path, patience=20.0).close()
    leaving.wait()


def test_a_repeated_append_is_written_once_and_a_stale_one_not_at_all(path):
    open_journal = FileJournal(path)
    lines = encode_all(3, [{"kind": "failure"}, {"kind": "observation"}])
    open_journal.append_lines(lines, 3)
    open_journal.append_lines(lines, 3)
    open_journal.append_lines([lines[1]], 4)
    with pytest.raises(JournalError, match="moved on to record 5"):
        open_journal.append_lines(encode_all(4, [{"kind": "charge"}]), 4)
    with pytest.raises(JournalError, match="moved on"):
        open_journal.append_lines(encode_all(9, [{"kind": "charge"}]), 9)
    open_journal.close()
    assert [r["kind"] for r in read(path)[3:]] == ["failure", "observation"]


def test_a_full_disk_is_one_line_with_the_path_and_leaves_a_readable_file(path):
    code = f"""
import resource, signal
from pathlib import Path
from orchestrator.engine.journal import FileJournal, JournalError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = FileJournal(Path({str(path)!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    while True:
        journal.append({{"kind": "note", "text": "x" * 90}})
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


def test_a_follower_sees_only_whole_records_and_each_once(path):
    whole = path.read_bytes()
    path.write_bytes(b"")
    tail, seen = Tail(path), []
    for end in range(0, len(whole) + 1, 7):
        path.write_bytes(whole[:end])
        seen += tail.fresh()
    path.write_bytes(whole)
    seen += tail.fresh()
    assert plain(seen) == RECORDS
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
    opened.append({"kind": "a"}, {"kind": "b"})
    opened.append({"kind": "c"}, sync=False)
    assert len(synced) == before + 1
    assert opened.seconds >= 0.01
    opened.close()
