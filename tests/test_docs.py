"""The documentation keeps its word: commands parse, programs run, YAML is valid, tables agree with the code."""

import ast
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import objectives
from adversaries import ADVERSARIES
from orchestrator.campaign.campaign import Campaign
from orchestrator.cli import app

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
FENCE = re.compile(r"(?:<!-- (?P<note>.*?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)```", re.DOTALL)
SAVED_ELSEWHERE = {"mine.yaml", "paper.yaml"}  # files the text has just asked the reader to write


def blocks(language: str) -> Iterator[tuple[Path, str, str]]:
    """Page, note and text of every fenced block in a language."""
    for page in PAGES:
        for found in FENCE.finditer(page.read_text()):
            if found["language"] == language:
                yield page, found["note"] or "", found["text"]


def commands() -> list[tuple[str, str]]:
    """Page and line of every command, those in tables included."""
    shown = [(page, text.replace("\\\n", " ")) for page, _, text in [*blocks("sh"), *blocks("")]]
    lines = [(page.name, line) for page, text in shown for line in text.splitlines() if line.strip()]
    inline = re.compile(r"`((?:orchestrate|python|make|pip) [^`]+)`")
    quoted = [(page.name, line) for page in PAGES for line in inline.findall(FENCE.sub("", page.read_text()))]
    return sorted({(page, re.split(r"\s+#", line)[0].strip()) for page, line in lines + quoted})


def check_orchestrate(words: list[str]) -> None:
    """Let the real command line parse the arguments, without running anything."""
    group: Any = typer.main.get_command(app)
    if words[0].startswith("-"):
        assert words[0] in {name for parameter in group.params for name in parameter.opts}
        return
    with group.make_context("orchestrate", list(words), resilient_parsing=True) as context:
        name, command, rest = group.resolve_command(context, words)
        parsed = command.make_context(name, rest, parent=context)
    source = parsed.params.get("campaign")
    if source and source not in SAVED_ELSEWHERE:
        Campaign.load(ROOT / source if source.endswith(".yaml") else source)


def check_python(words: list[str]) -> None:
    """The script exists, and it mentions every option."""
    if words[0] == "-m":
        return
    source = (ROOT / words[0]).read_text()
    for option in (word for word in words[1:] if word.startswith("--")):
        assert f'"{option}"' in source, f"{words[0]} has no {option}"


def check_make(words: list[str]) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(words) <= set(targets), f"the Makefile has {targets}"


def check_pytest(words: list[str]) -> None:
    assert all((ROOT / word).exists() for word in words if word.startswith("tests/"))


def check_ray(words: list[str]) -> None:
    """Let Ray's own command line parse the arguments."""
    from ray.scripts.scripts import cli

    said = words[: words.index(">")] if ">" in words else words
    with cli.make_context("ray", list(said), resilient_parsing=True) as context:
        name, command, rest = cli.resolve_command(context, said)
        command.make_context(name, rest, parent=context)
    check_cluster(words)


def check_cluster(words: list[str]) -> None:
    """Cluster files that exist, and what is to be run there."""
    assert all((ROOT / word).exists() for word in words if word.startswith("cluster") and word.endswith(".yaml"))
    for inner in words:
        if "orchestrate " in inner:
            check_orchestrate(shlex.split(inner.partition("orchestrate ")[2]))


def check_files(words: list[str]) -> None:
    assert all((ROOT / word).exists() for word in words if word.startswith("examples/"))


def check_sbatch(words: list[str]) -> None:
    """The batch file, and what it hands on to `orchestrate run`."""
    file, *rest = [word for word in words if not word.startswith("--job-name=")]
    assert (ROOT / file).is_file()
    check_orchestrate(["run", *rest])


KNOWN: dict[str, Callable[[list[str]], None]] = {
    "orchestrate": check_orchestrate,
    "python": check_python,
    "make": check_make,
    "pytest": check_pytest,
    "ray": check_ray,
    "jupyter": check_files,
    "pre-commit": check_files,
    "pip": check_files,
    "kubectl": check_cluster,
    "sbatch": check_sbatch,
    **dict.fromkeys(("aws", "chmod", "docker", "ssh-copy-id", "ssh-keygen"), check_files),  # not ours to check
}


def readme_commands() -> list[tuple[str, str]]:
    """The same for the README, whose blocks also show folders."""
    text = (ROOT / "README.md").read_text()
    lines = [line for found in FENCE.finditer(text) if not found["language"] for line in found["text"].splitlines()]
    quoted = re.findall(r"`((?:orchestrate|python|make|pip) [^`]+)`", FENCE.sub("", text))
    shown = {re.split(r"\s+#", line)[0].strip() for line in lines + quoted if line.split(" ")[0] in KNOWN}
    return [("README.md", command) for command in sorted(shown)]


def test_the_readme_shows_commands() -> None:
    assert {"make demo", "make test", "orchestrate ui"} <= {command for _, command in readme_commands()}


@pytest.mark.parametrize(("page", "command"), commands() + readme_commands())
def test_every_command_is_known(page: str, command: str) -> None:
    program, *words = shlex.split(command)
    assert program in KNOWN, f"{page} shows {program!r}, which nobody checks"
    KNOWN[program](words)


PROGRAMS = [
    pytest.param(page, text, id=f"{page.stem}-{i}") for i, (page, note, text) in enumerate(blocks("python")) if not note
]


@pytest.mark.parametrize(("page", "program"), PROGRAMS)
def test_every_program_runs(page: Path, program: str) -> None:
    exec(compile(program, str(page), "exec"), {"__name__": "docs"})


def test_a_program_that_does_not_run_says_why() -> None:
    for page, note, text in blocks("python"):
        ast.parse(text)
        if note.startswith("file: "):
            shown = (ROOT / note.removeprefix("file: ")).read_text()
            assert shown.endswith(text), f"{page.name} shows another {note}"
        else:
            assert not note or note.startswith("not run: "), f"{page.name}: {note}"


@pytest.mark.parametrize(("page", "text"), [(page, text) for page, _, text in blocks("yaml")])
def test_every_campaign_is_valid(page: Path, text: str) -> None:
    Campaign.from_dict({"name": page.stem} | yaml.safe_load(text)).studies()


def table(page: str, heading: str) -> dict[str, str]:
    """First and second column of the first table below a heading, without backticks."""
    section = (ROOT / "docs" / page).read_text().split(f"\n{heading}\n")[1]
    rows = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert rows is not None
    cells = [[cell.strip() for cell in row.split("|")[1:3]] for row in rows[0].splitlines()[2:]]
    return {name.strip("`"): value.strip("`") for name, value in cells}


def defaults(callable_: Callable[..., Any], without: set[str]) -> dict[str, str]:
    parameters = inspect.signature(callable_).parameters.values()
    named = [p for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in without]
    return {p.name: _spelt(p.default) for p in named}


def _spelt(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def test_the_options_of_every_algorithm_are_told_with_their_defaults() -> None:
    from rcgp import make_optimizer
    from rcgp.algorithms import SURROGATES

    general = defaults(make_optimizer, {"name", "dim", "seed", "n_initial"})
    assert table("algorithms.md", "## Options of every algorithm") == general
    for name, surrogate in SURROGATES.items():
        if surrogate is not None:
            own = {field.name: _spelt(field.default) for field in fields(surrogate)}
            assert table("algorithms.md", f"### {name}") == own
    assert set(table("algorithms.md", "## Which one")) == set(SURROGATES)


def test_the_options_of_the_searcher_are_told_with_their_defaults() -> None:
    from orchestrator import RCGPSearch

    assert table("algorithms.md", "## In Ray Tune") == defaults(RCGPSearch, {"space", "metric", "mode"})


def test_the_options_of_the_sampler_are_told_with_their_defaults() -> None:
    from orchestrator import RCGPSampler

    assert table("optuna.md", "## Options") == defaults(RCGPSampler, set())


def test_the_keys_of_a_campaign_are_told() -> None:
    assert set(table("campaigns.md", "## Every key")) == set(Campaign.model_fields)


def test_every_kind_of_parameter_can_be_declared_as_shown() -> None:
    shown = table("campaigns.md", "## Your own objective")
    space = objectives.Space(tuple(eval(declared, vars(objectives)) for declared in shown))
    values = space.to_units([1.0] * space.dim)
    assert list(map(type, values.values())) == [float, float, float, int, str]
    assert set(zip(space.names, values.values(), strict=True)) > {("dropout", 0.5), ("layers", 8), ("kernel", "rbf")}


def test_the_adversaries_are_told_with_their_defaults() -> None:
    page = (ROOT / "docs" / "adversaries.md").read_text()
    rows = {
        row.split("|")[1].strip().strip("`"): row.split("|")[4]
        for row in re.findall(r"^\| `.*", page, re.MULTILINE)[: len(ADVERSARIES)]
    }
    told = {name: re.findall(r"`([^`]+)`", options) for name, options in rows.items()}
    true: dict[str, list[str]] = {
        name: [f"{option}={default}" for option, default in defaults(policy, set()).items()]
        for name, policy in ADVERSARIES.items()
    }
    assert told == true


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"`((?:[a-z]+/)+[\w.-]+\.\w+|tests/\w+(?:/\w+)*)`", page.read_text())
    missing = [name for name in named if not (ROOT / name).exists() and not name.startswith("runs/")]
    assert missing == []


@pytest.mark.slow
def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "site" / "how-it-works" / "index.html").is_file()
