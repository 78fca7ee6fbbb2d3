"""Tables that can be pasted."""

import io
from csv import reader as csv_reader

import pytest
from pandas import DataFrame

from orchestrator.review.tables import csv, latex, markdown

TABLE = DataFrame(
    {"algorithm": ["a2_rcgp", "random"], "seeds": [2, 2], "cumulative_regret": ["4.0 ± 1.0", "1e5 & more"]}
)


def test_markdown_keeps_every_cell_as_it_is() -> None:
    head, _, first, second = [[c.strip() for c in line.split("|")[1:-1]] for line in markdown(TABLE).splitlines()]
    assert head == ["algorithm", "seeds", "cumulative regret"]
    assert first == ["a2_rcgp", "2", "4.0 ± 1.0"]
    assert second == ["random", "2", "1e5 & more"]


def test_latex_is_escaped_and_ruled() -> None:
    text = latex(TABLE)
    assert r"\begin{tabular}{lrr}" in text
    assert r"a2\_rcgp & 2 & 4.0 ± 1.0 \\" in text
    assert r"1e5 \& more" in text
    assert r"\toprule" in text


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_text_of_a_csv_is_a_formula_to_a_spreadsheet(text: str) -> None:
    table = DataFrame({"run": [text, "plain", "-0.5"], text: [-1.5, float("nan"), float("-inf")]})
    heading, first, *others = csv_reader(io.StringIO(csv(table), newline=""))
    told = "'" + text.replace("\r", " ")
    assert heading == ["run", told]
    assert first == [told, "-1.5"]
    assert others == [["plain", ""], ["-0.5", "-inf"]], "numbers stay numbers, in words too"
