"""What a user can be told in one line. Apart from the rest so that the command line starts quickly."""

import errno
import re
from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """What was asked for cannot be done; the message is one line that names the value and the remedy."""


HOST_ERRORS = {
    errno.EMFILE: "raise the limit with 'ulimit -n'",
    errno.ENFILE: "close other programs, or raise the machine's limit",
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room within the quota",
    errno.ENOMEM: "close other programs, or use a larger machine",
}
"""What a machine can lack wherever a program is at that moment, and what helps."""


def host_error(error: OSError) -> str | None:
    """One line on what the machine lacks; None for errors that are no matter of the machine."""
    if error.errno not in HOST_ERRORS:
        return None
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror}; {HOST_ERRORS[error.errno]}."


def redacted(text: str) -> str:
    """Without the credentials an address may carry, before its host or among its parameters."""
    text = re.sub(r"://[^/\s]*@", "://***@", text)
    return re.sub(r"(?i)([?&][^=&\s]*(?:password|token|secret|key)[^=&\s]*=)[^&\s'\"]*", r"\1***", text)


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """A hint for a misspelt word, and what there is."""
    names = sorted(allowed)
    close = closest(word, names)
    return (f"did you mean {close!r}? " if close else "") + f"Allowed: {', '.join(names)}."


def closest(word: str, allowed: Iterable[str], likeness: float = 0.6) -> str | None:
    """The allowed word that is most like this one, if one is like it."""
    return next(iter(get_close_matches(word, sorted(allowed), n=1, cutoff=likeness)), None)
