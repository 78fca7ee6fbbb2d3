"""The stored results: figures and tables are what the stored curves say."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

RESULTS = Path(__file__).parents[1] / "results"
STORED = sorted(path.parent.name for path in RESULTS.glob("*/curves.csv.gz"))


@pytest.fixture(scope="module")
def draw() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw", RESULTS / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", STORED)
def test_a_stored_table_and_figure_can_be_drawn_again(draw: ModuleType, name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    shutil.copy(RESULTS / name / "curves.csv.gz", folder)
    draw.draw(folder)
    assert (folder / "regret.md").read_text() == (RESULTS / name / "regret.md").read_text()
    first = (folder / "regret.pdf").read_bytes()
    draw.draw(folder)
    assert (folder / "regret.pdf").read_bytes() == first, "the same numbers, the same file"


def test_every_stored_result_names_its_command() -> None:
    page = (RESULTS / "README.md").read_text()
    assert STORED
    for name in STORED:
        assert f"| `{name}/` | `orchestrate run " in page
