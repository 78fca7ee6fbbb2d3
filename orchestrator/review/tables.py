"""Numbers and tables as text."""

import math
from typing import Any

from pandas import DataFrame, Series
from pandas.api.types import is_numeric_dtype, is_string_dtype

FORMULA = ("=", "+", "-", "@")
"""How a cell begins that spreadsheets run when the file is opened, perhaps after a tab."""

LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "~": r"\textasciitilde ",
    "^": r"\textasciicircum ",
    "\\": r"\textbackslash ",
}
"""Letters that mean something to LaTeX, as it prints them."""


def number(value: float) -> str:
    """A number for people; a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def in_seconds(table: DataFrame) -> DataFrame:
    """A table of durations with two decimals: nobody needs a hundredth of a millisecond."""
    return table.map(lambda cell: f"{cell:.2f}" if isinstance(cell, float) else cell)


def markdown(table: DataFrame) -> str:
    """A table as Markdown."""
    texts = _texts(table)
    rows = [texts.columns.tolist(), ["---"] * len(texts.columns), *texts.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def latex(table: DataFrame) -> str:
    """A table as LaTeX, for booktabs: the first column words, the others figures."""
    texts = _texts(table)
    cells: list[list[str]] = [texts.columns.tolist(), *texts.to_numpy().tolist()]
    head, *rows = [" & ".join(_escaped(cell) for cell in row) + r" \\" for row in cells]
    begin, end = rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}", r"\end{tabular}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *rows, r"\bottomrule", end, ""])


def _escaped(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def csv(table: DataFrame) -> str:
    """A table as CSV in which no text - a cell or a heading - is a formula to a spreadsheet."""
    return table.apply(_harmless_cells).rename(columns=_harmless).to_csv(index=False)


def _harmless_cells(column: "Series[Any]") -> "Series[Any]":
    """A long table is numbers and few words, again and again: those are asked once each."""
    if is_numeric_dtype(column) or (
        is_string_dtype(column) and all(_harmless(w) == w for w in column.dropna().unique())
    ):
        return column
    return column.map(_harmless)


def _harmless(cell: object) -> object:
    """Text that a spreadsheet would run gets the apostrophe by which spreadsheets know text; numbers stay numbers."""
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\r", " ")  # unquoted by the writer, and the end of a row to readers
    return f"'{text}" if text.lstrip().startswith(FORMULA) and not _is_numeral(text) else text


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _texts(table: DataFrame) -> DataFrame:
    return table.astype(str).rename(columns=lambda column: str(column).replace("_", " "))
