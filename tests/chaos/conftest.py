"""The chaos suite ends in its table. CHAOS=long (make chaos) injects hundreds of faults instead of a few of each."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder takes long, and more on a busy machine."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(5400))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of all faults that were injected."""
    from harness import TABLE, lines

    if TABLE:
        terminalreporter.section("faults")
        for line in lines():
            terminalreporter.write_line(line)
