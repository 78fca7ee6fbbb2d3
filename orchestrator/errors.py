"""What a user can be told in one line. Apart from the rest so that the command line starts quickly."""


class Refused(ValueError):
    """What was asked for cannot be done; the message is one line that names the value and the remedy."""
