"""Runs on disk: a folder for each, with its campaign, its journals and whatever is derived from them."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypedDict
from uuid import uuid4

import yaml

from orchestrator.campaign.campaign import Campaign, check_name, read_yaml
from orchestrator.campaign.lock import Lock
from orchestrator.campaign.study import Study, differences
from orchestrator.errors import UserError, did_you_mean, redacted
from orchestrator.plain import from_strict_json, to_strict_json

ROOT = "ORCHESTRATE_ROOT"
"""The environment variable that says where runs live; otherwise `runs` in the working directory."""


def storage_root(root: str | Path | None = None) -> Path:
    """The folder that holds all runs."""
    return Path(root or os.environ.get(ROOT) or "runs")


@dataclass(frozen=True)
class Run:
    """One campaign, run under a name."""

    folder: Path
    campaign: Campaign
    paths: tuple[str, ...] = ()
    """Folders where objectives and adversaries given by import path are found."""
    id: str = ""
    """Tells this run from others of the same name, wherever they are tracked together."""

    @classmethod
    def create(cls, root: Path, name: str, campaign: Campaign, paths: Sequence[str] = ()) -> "Run":
        """A new run; everything that can be refused is refused before the first trial."""
        folder = root / check_name(name)
        if folder.exists():
            raise UserError(f"{folder} exists: continue it with 'orchestrate resume {name}', or choose another --name.")
        run = cls(folder, campaign, tuple(paths), uuid4().hex)
        try:
            run.journals.mkdir(parents=True)
            _write(folder / "campaign.yaml", yaml.safe_dump(campaign.to_dict(), sort_keys=False))
            started = {"id": run.id, "campaign": campaign.to_dict(), "paths": run.paths}
            _write(folder / "run.json", json.dumps(to_strict_json(started), indent=1))
        except OSError as error:
            raise UserError(f"{folder}: cannot be written ({error.strerror}); choose another --root.") from None
        return run

    @classmethod
    def open(cls, root: Path, name: str) -> "Run":
        """The run of that name, its import paths in place; refused when its campaign file is no longer what was started."""
        folder = root / check_name(name)
        if not (folder / "run.json").is_file():
            raise UserError(
                f"{name}: no such run in {root}; {did_you_mean(name, names(root)) if names(root) else 'none yet.'}"
            )
        started = _started(folder)
        where = folder / "campaign.yaml"
        campaign = Campaign.from_dict(read_yaml(where), source=str(where))
        changed = redacted("; ".join(differences(started["campaign"], campaign.to_dict())))
        if changed:
            raise UserError(f"{where}: changed since it started ({changed}). Undo that, or run it under a new name.")
        import_from(started["paths"])
        return cls(folder, campaign, tuple(started["paths"]), started["id"])

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.folder.name

    @property
    def journals(self) -> Path:
        """Where the journals are."""
        return self.folder / "journals"

    @cached_property
    def studies(self) -> tuple[Study, ...]:
        """The campaign's studies."""
        return self.campaign.studies()

    def journal(self, study: Study) -> Path:
        """The file of a study's journal."""
        return journal_path(self.journals, study)

    def lock(self) -> Lock:
        """Keep every other driver out until the lock is closed."""
        return Lock(self.folder / "lock")

    def require_writable(self) -> None:
        """Refuse a folder that nothing can be written to, before anything is tried."""
        for folder in (self.folder, self.journals):
            if not os.access(folder, os.W_OK):
                raise UserError(f"{folder}: cannot be written; change that, or copy the run to another --root.")


def _write(path: Path, text: str) -> None:
    """Write a new file; one that holds a password is for its owner alone."""
    path.touch(mode=0o666 if redacted(text) == text else 0o600)
    path.write_text(text)


class _Started(TypedDict):
    id: str
    campaign: Mapping[str, object]
    paths: list[str]


def _started(folder: Path) -> _Started:
    """What the run was when it started."""
    path = folder / "run.json"
    try:
        started = from_strict_json(json.loads(path.read_text()))
    except (ValueError, OSError) as error:
        raise UserError(f"{path}: damaged ({error}).") from None
    missing = {"id", "campaign", "paths"} - started.keys() if isinstance(started, dict) else {"everything"}
    if missing:
        lacks = f"made by an older version (run.json lacks {', '.join(sorted(missing))})"
        raise UserError(f"{folder}: {lacks}. Run it again with: orchestrate run {folder / 'campaign.yaml'}")
    return _Started(id=started["id"], campaign=started["campaign"], paths=started["paths"])


def import_from(paths: Sequence[str]) -> None:
    """Let import paths find modules in these folders."""
    sys.path.extend(p for p in paths if p not in sys.path)


def journal_path(folder: Path, study: Study) -> Path:
    """The journal of a study."""
    return folder / f"{study.key}.jsonl"


def ledger_path(folder: Path, study: Study) -> Path:
    """The ledger of a distributed study's adversary."""
    return folder / f"{study.key}.ledger.jsonl"


def names(root: Path) -> list[str]:
    """The runs in a storage root, oldest first."""
    if not root.is_dir():
        return []
    found = [path.parent for path in root.glob("*/run.json")]
    return [p.name for p in sorted(found, key=lambda p: p.joinpath("run.json").stat().st_mtime)]


def free_name(root: Path, name: str) -> str:
    """`name`, or with the first number that makes it new."""
    taken = {path.name for path in root.iterdir()} if root.is_dir() else set()
    numbered = (f"{name}-{i}" for i in range(2, len(taken) + 3))
    return name if name not in taken else next(n for n in numbered if n not in taken)
