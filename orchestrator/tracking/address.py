"""Where a run is tracked. Apart from the rest: the driver needs the address, and no MLflow."""

import os
from pathlib import Path

from orchestrator.campaign.runs import Run


def tracking_uri(run: Run, given: str | None = None) -> str:
    """Where a run is tracked: as given, as its campaign says, as MLflow's environment says, else beside the runs."""
    return given or run.campaign.tracking.uri or store_uri(run.folder.parent)


def store_uri(root: Path) -> str:
    """The tracking server of the environment, else a database in the folder that holds all runs."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{root.absolute() / 'mlflow.db'}"


def database_file(uri: str) -> Path | None:
    """The file of a store on this machine; None for every other store, which may hang."""
    scheme, _, path = uri.partition(":///")
    return Path(path) if scheme == "sqlite" else None
