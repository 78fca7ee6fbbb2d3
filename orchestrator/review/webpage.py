"""The page as one file: no server, no network, light and dark. `page.html` draws the data that others gather."""

import base64
import gzip
import json
import math
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from pandas import DataFrame, Series
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from orchestrator.plain import Json
from orchestrator.review.figures import PALETTE

Data = Json
"""What a page shows, or a part of it: strict JSON."""
DARK_PALETTE = ("#5AB0E6", "#FF8A4C", "#35C79B", "#E79AC6", "#F5BD45", "#9AD4F7", "#B5B5B5")


def write_html(folder: Path, data: Data) -> Path:
    """Write report.html and return its path."""
    path = folder / "report.html"
    path.write_text(page(data), encoding="utf-8")
    return path


def page(data: Data) -> str:
    """The page that draws the data."""
    text = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    parts = {
        "__TITLE__": escape(data["name"]),
        "__PLOTLY__": plotly_packed(),
        "__PALETTES__": json.dumps({"light": PALETTE, "dark": DARK_PALETTE}),
        "__DATA__": _packed(to_json(data)),
    }
    for mark, part in parts.items():
        text = text.replace(mark, part, 1)
    return text


def to_json(data: Data) -> str:
    """Strict and short."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


@cache
def plotly_packed() -> str:
    """Plotly's library, packed: the browser unpacks it, and the page is small enough to be mailed."""
    from plotly.offline import get_plotlyjs

    return _packed(get_plotlyjs())


def _packed(text: str) -> str:
    """A text as the browser unpacks it: a fifth as long, and nothing in it can end the element that holds it.

    Level 6: the highest takes twice as long and saves one part in a hundred.
    """
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def data_of(page: str) -> Data:
    """What a page shows."""
    _, _, rest = page.partition('id="data">')
    data: Data = json.loads(gzip.decompress(base64.b64decode(rest.partition("</script>")[0])))
    return data


def table(frame: DataFrame, words: int, best: Iterable[int] = ()) -> Data:
    """A table as it is shown: the first columns words, the others figures, some rows marked as best."""
    titles = [str(column).replace("_", " ") for column in frame.columns]
    return {"columns": titles, "rows": frame.astype(str).to_numpy().tolist(), "words": words, "best": list(best)}


def columns(frame: DataFrame, title: str, text: str, best: Iterable[int] = ()) -> Data:
    """A table to sort and filter, column by column; numbers stay numbers."""
    kept = [{"name": str(name), "values": _cells(frame[name])} for name in frame.columns]
    return {"title": title, "text": text, "columns": kept, "best": list(best)}


def _cells(column: "Series[Any]") -> list[float | str | None]:
    if is_bool_dtype(column) or not is_numeric_dtype(column):
        return ["" if value is None else str(value) for value in column.tolist()]
    return column.tolist() if is_integer_dtype(column) else [_cell(value) for value in column.tolist()]


def _cell(value: float) -> float | str | None:
    """Five digits; infinities by name, nothing for what is not a number."""
    return None if math.isnan(value) else float(f"{value:.5g}") if math.isfinite(value) else str(value)
