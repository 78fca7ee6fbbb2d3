"""The directions of the house: which room may import which, read from the source with `ast`.

Imports inside functions and for type checking only count like all others.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("rcgp", "objectives", "adversaries", "orchestrator")
FORBIDDEN = {
    "rcgp": {"ray", "mlflow", "objectives", "adversaries", "orchestrator"},
    "objectives": {"ray", "mlflow", "rcgp", "adversaries", "orchestrator"},
    "adversaries": {"ray", "mlflow", "torch", "rcgp", "objectives", "orchestrator"},
}
ROOMS = {
    "search": set(),
    "sampler": {"search"},
    "campaign": set(),
    "engine": {"campaign"},
    "review": {"campaign", "engine", "search"},
    "tracking": {"campaign", "engine", "review"},
    "launch": {"campaign", "engine"},
}
"""The rooms of `orchestrator`, and which others each may enter; modules beside the rooms are open to all of them."""
ENTRANCE = {"cli", "foreground", "session"}
"""What composes the rooms: no room imports it."""
HEAVY = {
    "boto3", "botocore", "botorch", "google", "gymnasium", "imageio", "importlib",
    "matplotlib", "mlflow", "optuna", "pandas", "PIL", "plotly", "pydantic", "ray",
    "rich", "scipy", "sklearn", "sqlalchemy", "torch", "torchvision",
}  # fmt: skip
"""Libraries that cost start-up time: they, and modules that load them, may be imported where they are first needed."""
LONGEST = 350


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """Every module that is imported, and every `module.name` that may be one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name,) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def imported_packages(source: Path) -> set[str]:
    return {name.split(".")[0] for names in imports(ast.parse(source.read_text())) for name in names}


def module_name(source: Path) -> str:
    parts = source.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module_graph() -> dict[str, set[str]]:
    """Every module of the project with the modules of the project it imports."""
    modules = {module_name(source): source for source in sources()}
    graph = {}
    for name, source in modules.items():
        found = {module for names in imports(ast.parse(source.read_text())) for module in names}
        graph[name] = (found & modules.keys()) - {name}
    del graph["orchestrator"], graph["rcgp"]  # they only hand on names
    return {name: {m for m in found if m in graph} for name, found in graph.items()}


def room_of(module: str) -> str | None:
    """The room of a module of `orchestrator`; None for those beside the rooms."""
    parts = module.split(".")
    return parts[1] if parts[0] == "orchestrator" and len(parts) > 1 and parts[1] in ROOMS else None


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_package_imports_only_what_its_direction_allows(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files, f"{room} holds no source"
    assert {f"{s.name} imports {p}" for s in files for p in imported_packages(s) & FORBIDDEN[room]} == set()


def test_a_room_enters_only_the_rooms_it_may() -> None:
    crossings = {(module, other) for module, found in module_graph().items() for other in found}
    offences = [
        f"{module} imports {other}"
        for module, other in sorted(crossings)
        if (room := room_of(module)) and (room_of(other) not in {None, room, *ROOMS[room]} or _entrance(other))
    ]
    assert offences == []


def _entrance(module: str) -> bool:
    return module.removeprefix("orchestrator.") in ENTRANCE


BELOW_LIES = {
    "acquisition",
    "ascent",
    "choices",
    "evidence",
    "fit",
    "gaussian",
    "random_failures",
    "sobol",
    "state",
    "weights",
}
"""What the questions of `rcgp.lies` are asked with. Beliefs, optimizers and models ask them; the way back would be a circle."""


def test_who_asks_about_lies_is_not_known_to_the_questions() -> None:
    asked = {name: found for name, found in module_graph().items() if name.startswith("rcgp.lies.")}
    assert asked
    known = {"rcgp." + module for module in BELOW_LIES} | asked.keys()
    assert {f"{name} imports {other}" for name, found in asked.items() for other in found - known} == set()


def test_every_room_is_known() -> None:
    folders = {p.name for p in (ROOT / "orchestrator").iterdir() if (p / "__init__.py").exists()}
    assert folders == ROOMS.keys()


def test_no_import_leads_back_to_where_it_started() -> None:
    TopologicalSorter(module_graph()).prepare()  # raises CycleError, which names the modules of the circle


def test_only_tracking_and_the_reader_of_experiments_import_mlflow() -> None:
    importers = {module_name(s) for s in sources() if "mlflow" in imported_packages(s)}
    assert importers
    assert {m for m in importers if room_of(m) != "tracking"} == {"orchestrator.experiments"}


def at_start(tree: ast.Module) -> Iterator[str]:
    """Every module that is imported when this one is."""
    statements = [node for node in tree.body if not isinstance(node, ast.If)]  # `if TYPE_CHECKING` loads nothing
    outer = ast.Module([n for n in statements if not isinstance(n, ast.FunctionDef | ast.ClassDef)], [])
    return (name for names in imports(outer) for name in names)


def heavy_modules() -> set[str]:
    """The modules of the project that load a heavy library when they are imported."""
    loads = {module_name(source): set(at_start(ast.parse(source.read_text()))) for source in sources()}
    heavy = {module for module, found in loads.items() if {name.split(".")[0] for name in found} & HEAVY}
    while more := {module for module, found in loads.items() if found & heavy} - heavy:
        heavy |= more
    return heavy


def test_imports_inside_functions_are_for_what_costs_start_up_time() -> None:
    """Elsewhere they would hide a circle."""
    heavy, offences = heavy_modules(), []
    for source in sources():
        tree = ast.parse(source.read_text())
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)):
            for names in imports(function):
                if names[0].split(".")[0] not in HEAVY and not heavy & set(names):
                    offences.append(f"{module_name(source)}.{function.name} imports {names[0]}")
    assert offences == []


def test_files_are_read_in_one_sitting() -> None:
    lengths = {str(s.relative_to(ROOT)): len(s.read_text().splitlines()) for s in sources()}
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}


LIGHT = """
import sys
sys.modules["fcntl"] = None  # as on a system that has none
import orchestrator.search
from orchestrator import RCGPSearch
loaded = [m for m in sys.modules if m.split(".")[0] in ("mlflow", "adversaries", "objectives")
          or m.startswith(tuple(f"orchestrator.{room}" for room in ("campaign", "engine", "tracking", "review", "launch")))]
print(loaded)
"""


def test_the_searcher_loads_no_other_room_and_needs_no_file_locks() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
