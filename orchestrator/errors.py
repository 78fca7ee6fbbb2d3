"""What a user can be told in one line. Apart from the rest so that the command line starts quickly."""

import re


class Refused(ValueError):
    """What was asked for cannot be done; the message is one line that names the value and the remedy."""


def redacted(text: str) -> str:
    """Without the credentials an address may carry."""
    return re.sub(r"://[^/@\s]*@", "://***@", text)
