"""`orchestrate`, which needs more than the searcher does: what is missing is one line."""

import sys
from importlib import import_module

from orchestrator.errors import UserError
from orchestrator.extras import require


def main() -> None:
    """The command line, where it is installed."""
    try:
        require("orchestrate", "campaigns")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    import_module("orchestrator.cli").main()


if __name__ == "__main__":
    main()
