"""Tables that read at the width of a terminal, and nothing in them that the terminal would obey."""

import pandas as pd
import pytest

from orchestrator.terminal import GAP, Column, fitting, plain, print_frame, print_table, print_text

STUDIES = pd.DataFrame(
    {
        "study": ["a2-rcgp-ucb.clairvoyant.seed0", "random.clairvoyant.seed0"],
        "trials": ["105/105", "5/105"],
        "best": [15.83, float("nan")],
        "simple_regret": [0.001234, 2.3],
        "cumulative_regret": [491.25, 1234.5],
        "suspects": [4, 0],
        "corrupted": [4, 4],
        "failed": [0, 0],
        "fallbacks": [0, 0],
    }
)


@pytest.fixture
def eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a terminal of eighty columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("eighty")
def test_a_wide_table_is_broken_between_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_frame("mine", STUDIES)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("a2-rcgp-ucb.clairvoyant.seed0" in line for line in lines) == 2, "each part has the study, unbroken"
    for word in ("trials", "best", "cumulative", "suspects", "corrupted", "failed", "fallbacks", "491.2", "105/105"):
        assert any(word in line.split() for line in lines), word


def test_a_pipe_is_as_wide_as_columns_says(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_frame("mine", STUDIES)
    print_text("Use this: " + "many words " * 20)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("many words" in line for line in lines) == 3


def test_in_a_log_it_stays_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_frame("mine", STUDIES)
    print_text("Use this: " + "many words " * 20)
    out = capsys.readouterr().out
    assert "simple regret  cumulative regret  suspects  corrupted" in out
    assert out.endswith("many words many words \n")


@pytest.mark.usefixtures("eighty")
def test_prose_is_wrapped_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("Campaigns", ["campaign", "what it is"], [["mine", "many words " * 20]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("many words" in line for line in lines) > 2
    assert not any(line.rstrip().endswith(("man", "wor", "word")) for line in lines)


def test_columns_are_kept_in_order_and_none_is_lost() -> None:
    columns = [Column(name, ["x" * 9]) for name in "abcdefg"]
    parts = list(fitting(columns, width=4 * (9 + GAP)))
    assert ["".join(c.heading for c in part) for part in parts] == ["abcd", "aefg"]
    assert ["".join(c.heading for c in part) for part in fitting(columns, width=5)] == [
        "ab",
        "ac",
        "ad",
        "ae",
        "af",
        "ag",
    ]


@pytest.mark.parametrize("text", ["[/red] [bold]x", "[link=http://there]here[/link]", "[", "a[0]"])
def test_brackets_are_printed_as_they_were_written(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(text, [text], [[text]])
    assert capsys.readouterr().out.count(text) == 3


def test_what_a_terminal_would_obey_is_taken_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert plain("red\x1b[31m\nnext\tline\x07") == "red [31m next line "
    print_table("t", ["name"], [["clear\x1b[2Jed"]])
    assert "\x1b[2J" not in capsys.readouterr().out


def test_a_table_without_columns_is_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    print_frame("Nothing to compare yet", pd.DataFrame())
    assert capsys.readouterr().out == "Nothing to compare yet\n"
