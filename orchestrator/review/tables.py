"""Numbers and tables as text."""

import math

from pandas import DataFrame


def number(value: float) -> str:
    """A number for people; a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def markdown(table: DataFrame) -> str:
    """A table as Markdown."""
    texts = _texts(table)
    rows = [texts.columns.tolist(), ["---"] * len(texts.columns), *texts.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def latex(table: DataFrame) -> str:
    """A table as LaTeX, for booktabs: the first column words, the others figures."""
    return _texts(table).to_latex(index=False, escape=True, column_format="l" + "r" * (len(table.columns) - 1))


def _texts(table: DataFrame) -> DataFrame:
    return table.astype(str).rename(columns=lambda column: str(column).replace("_", " "))
