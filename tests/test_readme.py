"""The Python programs of the README run as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
PROGRAMS = [code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "from rcgp" in code]


@pytest.mark.parametrize("program", PROGRAMS, ids=["ask-tell", "botorch"])
def test_the_programs_run(program: str) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


def test_the_first_program_finds_its_lies() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAMS[0]], capture_output=True, text=True, check=True
    )
    suspects = result.stdout[: result.stdout.index("]") + 1]
    assert {8, 15} <= set(map(int, re.findall(r"\d+", suspects)))
