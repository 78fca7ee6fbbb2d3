"""Names that are not known: what to say, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def unknown(kind: str, word: str, allowed: Iterable[str]) -> str:
    """The message that there is no such `kind`, with the nearest of the `allowed` ones and all of them."""
    names = tuple(allowed)
    return f"Unknown {kind} {word!r}{did_you_mean(word, names)}: choose one of {', '.join(names)}."


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """The question whether the nearest of the `allowed` was meant, to go into a message; nothing where none is near."""
    close = difflib.get_close_matches(word, tuple(allowed), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
