"""What is not installed with the searcher, and the extra that brings it."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder

from orchestrator.errors import UserError

EXTRAS: dict[str, tuple[str, ...]] = {
    "botorch": ("botorch", "gpytorch", "torch"),
    "optuna": ("optuna",),
    "mlflow": ("mlflow", "plotly", "sqlalchemy", "yaml"),
    "campaigns": (
        "gymnasium",
        "jinja2",
        "jsonschema",
        "matplotlib",
        "packaging",
        "PIL",
        "pydantic",
        "rich",
        "sklearn",
        "torchvision",
        "typer",
    ),
}
"""The modules that each extra of pyproject.toml brings of its own; `campaigns` brings `botorch` and `mlflow` as well."""
INCLUDED = {"campaigns": ("botorch", "mlflow")}


class MissingExtra(UserError, ImportError):
    """A library is not installed; the message is one line that names the extra which brings it."""

    def __init__(self, what: str, extra: str, module: str) -> None:
        remedy = f'pip install "rcgp-orchestrator[{extra}]"'
        super().__init__(f"{what} needs the extra `{extra}`: {remedy} ({module} is not installed).")


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Within the block, a library of that extra that cannot be found is one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in modules_of(extra):
            raise
        raise MissingExtra(what, extra, module) from error


def require(what: str, extra: str) -> None:
    """Refuse at once what would fail later: a library of that extra is not there. Nothing is imported."""
    for module in modules_of(extra):
        if PathFinder.find_spec(module) is None:
            raise MissingExtra(what, extra, module)


def modules_of(extra: str) -> tuple[str, ...]:
    """Everything that the extra brings."""
    return (*EXTRAS[extra], *(module for part in INCLUDED.get(extra, ()) for module in EXTRAS[part]))
