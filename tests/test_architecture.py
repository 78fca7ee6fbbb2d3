"""The directions of the house: which room may import which, read from the source with `ast`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {
    "rcgp": {"ray", "mlflow", "objectives", "adversaries", "orchestrator"},
    "objectives": {"ray", "mlflow", "rcgp", "adversaries", "orchestrator"},
    "adversaries": {"ray", "mlflow", "torch", "rcgp", "objectives", "orchestrator"},
}


def imported_packages(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_imports_only_what_its_direction_allows(room: str) -> None:
    sources = sorted((ROOT / room).rglob("*.py"))
    assert sources, f"{room} holds no source"
    offences = [f"{s.name} imports {p}" for s in sources for p in imported_packages(s) if p in FORBIDDEN[room]]
    assert offences == []


def test_only_the_tracker_imports_mlflow() -> None:
    importers = {s.name for s in (ROOT / "orchestrator").rglob("*.py") if "mlflow" in imported_packages(s)}
    assert importers <= {"tracker.py"}
