"""A campaign: one YAML file that expands to a grid of studies."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, Field, StrictInt, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.campaign.sections import (
    SECTIONS,
    Confirmation,
    Count,
    Halving,
    Limits,
    Resources,
    Section,
    Tracking,
    as_confirmation,
    as_scheduler,
)
from orchestrator.campaign.study import Component, Confirm, Scheduler, Study
from orchestrator.errors import UserError, did_you_mean

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
LONGEST_NAME = 100
"""Characters of a name; the journal's file name holds two of them, and file systems end at 255."""
DEEPEST_OPTION = 20
"""Levels of lists and mappings in an option; YAML can say that a list holds itself."""


def check_name(name: str) -> str:
    """`name` when it can safely be a file's name."""
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        alphabet = f"of at most {LONGEST_NAME} letters, digits, '-', '_' and single dots between them"
        raise UserError(f"name {name!r:.60} must consist {alphabet}.")
    return name


def _component(value: object) -> Component:
    if isinstance(value, Component):
        return value
    if isinstance(value, str):
        return Component(value)
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise ValueError("must be a name, or a mapping with a name and its options")
    options = {k: v for k, v in value.items() if k not in ("name", "label")}
    _check_plain(options, "its options")
    return Component(value["name"], options, check_name(str(value.get("label") or "")) if "label" in value else "")


def _check_plain(value: object, where: str, depth: int = 0) -> None:
    """Refuse options that JSON, which keeps them in the journal, would lose or change."""
    if depth > DEEPEST_OPTION:
        raise ValueError(f"nests {where} more than {DEEPEST_OPTION} levels deep")
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"has the key {key!r:.40} in {where}, which must be text: put it in quotes")
            _check_plain(item, key, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_plain(item, where, depth + 1)
    elif not isinstance(value, str | int | float | None):
        raise ValueError(f"has a {type(value).__name__} in {where}: only numbers, text, lists and mappings can be kept")


def _seeds(value: object) -> object:
    """`10` stands for the seeds 0 to 9."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10_000:
        raise ValueError("must be a number of seeds between 1 and 10000, or a list of them")
    return list(range(value))


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


Part = Annotated[Component, BeforeValidator(_component)]
Seed = Annotated[StrictInt, Field(ge=0, lt=2**32)]


class Campaign(Section):
    """A grid of studies: algorithms x adversaries x seeds on one objective."""

    name: str
    description: str = ""
    objective: Part
    algorithms: Annotated[tuple[Part, ...], BeforeValidator(_listed), Field(min_length=1)]
    adversaries: Annotated[tuple[Part, ...], BeforeValidator(_listed), Field(min_length=1)] = (Component("honest"),)
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_seeds), Field(min_length=1)] = (0,)
    trials: Count
    initial: Count = 5
    workers: Count = 1
    resources: Resources = Resources()
    limits: Limits = Limits()
    retries: Annotated[StrictInt, Field(ge=0, le=100)] = 2
    crash_value: Annotated[float, Field(allow_inf_nan=False)] | None = None
    tracking: Tracking = Tracking()
    confirm: Annotated[Confirmation | None, BeforeValidator(as_confirmation)] = None
    scheduler: Annotated[Halving | None, BeforeValidator(as_scheduler)] = None

    @classmethod
    def load(cls, source: str | Path, overrides: Mapping[str, object] | None = None) -> "Campaign":
        """The campaign in a YAML file, or shipped under a name; `overrides` maps dotted keys to new values."""
        path = find(source)
        return cls.from_dict({"name": path.stem} | read_yaml(path), overrides, source=str(path))

    @classmethod
    def from_dict(
        cls, data: Mapping[str, object], overrides: Mapping[str, object] | None = None, *, source: str = "campaign"
    ) -> "Campaign":
        """The campaign a mapping describes; anything wrong is one line that names `source`."""
        merged = dict(data)
        for key, value in (overrides or {}).items():
            merged = _replaced(merged, key.split("."), value)
        try:
            campaign = cls.model_validate(merged)
            check_name(campaign.name)
            campaign._check_labels()
            campaign._check_confirm()
        except ValidationError as error:
            raise UserError(f"{source}: {_explain(error)}") from None
        except UserError as error:
            raise UserError(f"{source}: {error}") from None
        return campaign

    def studies(self) -> tuple[Study, ...]:
        """The grid; all algorithms of a seed before the next seed, so that half a campaign can be compared."""
        return tuple(
            Study(
                algorithm=algorithm,
                objective=self.objective,
                adversary=adversary,
                seed=seed,
                trials=self.trials,
                initial=self.initial,
                workers=self.workers,
                cpus=self.resources.cpus,
                gpus=self.resources.gpus,
                trial_seconds=self.limits.trial_seconds,
                retries=self.retries,
                crash_value=self.crash_value,
                confirm=None if self.confirm is None else Confirm(**self.confirm.model_dump()),
                scheduler=None if self.scheduler is None else Scheduler(**self.scheduler.model_dump()),
            )
            for seed, adversary, algorithm in product(self.seeds, self.adversaries, self.algorithms)
        )

    def to_dict(self) -> dict[str, object]:
        """Plain data that `from_dict` reads back, without what was left at its default."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        for key in ("objective", "algorithms", "adversaries"):
            if key in data:
                parts = getattr(self, key)
                data[key] = _plain(parts) if isinstance(parts, Component) else [_plain(p) for p in parts]
        if self.confirm is not None:  # also where it says no more than that there is one
            data["confirm"] = self.confirm.model_dump()
        return data

    def _check_confirm(self) -> None:
        if self.confirm is not None and self.confirm.trials >= self.trials:
            raise UserError(f"confirm.trials must leave some of the {self.trials} trials, got {self.confirm.trials}.")

    def _check_labels(self) -> None:
        for kind, given in (("algorithms", self.algorithms), ("adversaries", self.adversaries)):
            labels = [check_name(c.label) for c in given]
            twice = sorted({x for x in labels if labels.count(x) > 1})
            if twice:
                raise UserError(f"{kind}: {', '.join(twice)} appears twice; give each its own label.")
        if len(set(self.seeds)) < len(self.seeds):
            raise UserError(f"seeds: {list(self.seeds)} holds a seed twice.")


def _plain(part: Component) -> str | dict[str, object]:
    label = {} if part.label == Component(part.name).label else {"label": part.label}
    return {"name": part.name} | label | dict(part.options) if part.options or label else part.name


def _replaced(data: Mapping[str, object], path: Sequence[str], value: object) -> dict[str, object]:
    """A copy of `data` with the value at a dotted path replaced; a bare component name becomes a mapping."""
    head, *rest = path
    below = data.get(head)
    if not rest:
        return {**data, head: value}
    inner: Mapping[str, object] = (
        {"name": below} if isinstance(below, str) else below if isinstance(below, Mapping) else {}
    )
    return {**data, head: _replaced(inner, rest, value)}


def _explain(error: ValidationError) -> str:
    return "; ".join(_explain_one(e) for e in error.errors()[:3])


def _explain_one(error: ErrorDetails) -> str:
    *above, last = [str(part) for part in error["loc"]] or [""]
    where = ".".join([*above, last])
    if error["type"] == "extra_forbidden":
        allowed = SECTIONS.get(above[0], Campaign) if above else Campaign
        return f"unknown key {where!r}; {did_you_mean(last, allowed.model_fields)}"
    if error["type"] == "missing":
        return f"{where} is missing"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix("Value ")
    return f"{where} {message}, got {_shown(error['input'])}"


def _shown(value: object) -> str:
    """A value in a message: enough of it to be found again."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


# --- YAML -------------------------------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses duplicate keys and reads 1e-3 as the number it is."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # `<<: *other`, which the keys beside it may overrule
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(None, None, "this cannot be a key", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def parse_yaml(text: str, source: str) -> object:
    """The value of a YAML text; errors name line and column."""
    try:
        return yaml.load(text, _Loader)  # _Loader is a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UserError(f"{source}{where}: {error.problem}.") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or a number that there is not
        raise UserError(f"{source}: not YAML ({' '.join(str(error).split())}).") from None
    except RecursionError:
        raise UserError(f"{source}: nested too deeply to be read.") from None


def read_yaml(path: Path) -> dict[str, object]:
    """The mapping in a YAML file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text file ({error.reason} at byte {error.start}).") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}).") from None
    data = parse_yaml(text, str(path))
    if data is None:
        raise UserError(f"{path}: is empty; a campaign needs objective, algorithms and trials.")
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise UserError(f"{path}: must be a mapping of keys to values, got {type(data).__name__}.")
    return data


def parse_settings(settings: Iterable[str]) -> dict[str, object]:
    """The values of `--set key=value` arguments, read as YAML."""
    parsed = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not all(key.split(".")):
            raise UserError(f"--set {setting!r} must read KEY=VALUE, such as limits.trial_seconds=60.")
        parsed[key] = parse_yaml(value, f"--set {setting}")
    return parsed


def shipped() -> dict[str, Path]:
    """The campaigns that come with the project, by name."""
    return {path.stem: path for path in sorted((Path(__file__).parent / "shipped").glob("*.yaml"))}


def find(source: str | Path) -> Path:
    """The file of a campaign given by path or by shipped name."""
    path = Path(source)
    if path.is_dir():
        raise UserError(f"{source}: is a folder; name the campaign file in it.")
    if path.is_file():
        return path
    if str(source) in shipped():
        return shipped()[str(source)]
    if path.suffix in (".yaml", ".yml") or path.parent != Path():
        raise UserError(f"{source}: no such campaign file.")
    raise UserError(f"{source}: no such campaign; {did_you_mean(str(source), shipped())} A file of your own works too.")
