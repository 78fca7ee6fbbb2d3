"""The MLflow experiment of a run: found or made, the runs in it that are ours, and the address it opens at."""

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING

from orchestrator.campaign.runs import Run
from orchestrator.experiments import KIND
from orchestrator.tracking.charts import CHARTS_VIEW, live_views
from orchestrator.tracking.store import Store
from orchestrator.tracking.tags import RUN

if TYPE_CHECKING:
    from mlflow.entities import Experiment
    from mlflow.entities import Run as MlflowRun

NOTE = "mlflow.note.content"
"""Tag with the text that MLflow shows at the head of an experiment, and as the description of a run."""


def open_experiment(run: Run, store: Store) -> str:
    """The id of a run's experiment: found by its tag or its given name, else created, its views in place."""
    found = _find(store, run)
    views = live_views(run.campaign)
    if found is None:
        return _create_experiment(run, store, views)
    store.tag_experiment(str(found.experiment_id), {k: v for k, v in views.items() if k not in found.tags})
    return str(found.experiment_id)


def own_experiment(store: Store, run: Run) -> str | None:
    """The experiment of a run, where it has one."""
    found = _find(store, run)
    return None if found is None else str(found.experiment_id)


def _find(store: Store, run: Run) -> "Experiment | None":
    given = run.campaign.tracking.experiment
    found = store.experiments(f"name = '{given}'" if given else f"tags.`{RUN}` = '{run.id}'")
    return found[0] if found else None


def _create_experiment(run: Run, store: Store, views: Mapping[str, str]) -> str:
    """A new experiment; a name that is taken gets a number."""
    given = run.campaign.tracking.experiment
    taken = {e.name for e in store.experiments(deleted=True)}
    name = given or next(n for i in count(1) if (n := run.name if i == 1 else f"{run.name}-{i}") not in taken)
    return store.create_experiment(name, _artifact_folder(run, store.uri, name), {**_tags(run), **views})


def _artifact_folder(run: Run, uri: str, name: str) -> str | None:
    """Beside the runs for a store that is a database; a server has a place of its own."""
    if uri.startswith("http") or "://" not in uri:
        return None
    return (run.folder.parent / "mlflow-artifacts" / name).absolute().as_uri()


def _tags(run: Run) -> Mapping[str, str]:
    description = run.campaign.description
    tags = {NOTE: description, "orchestrate.description": description}
    tags["mlflow.experimentKind"] = "custom_model_development"  # otherwise the page opens on an empty overview
    tags |= {
        "mlflow.experiment.primaryMetric.name": "final_cumulative_regret",
        "mlflow.experiment.primaryMetric.greaterIsBetter": "False",
    }
    return tags if run.campaign.tracking.experiment else tags | {RUN: run.id}


def own_runs(store: Store, experiment: str, run: Run, kind: str, key: str, query: str = "") -> "dict[str, MlflowRun]":
    """This run's MLflow runs of a kind, by a tag; of two that a lost answer led to, the later is deleted."""
    mine = f"tags.`{RUN}` = '{run.id}' and tags.`{KIND}` = '{kind}'"
    found: dict[str, MlflowRun] = {}
    for known in store.runs(experiment, mine + query):
        name = known.data.tags[key]
        if name in found:
            store.delete_run(known.info.run_id)
        found.setdefault(name, known)
    return found


def charts_page(experiment: str, view: str = CHARTS_VIEW) -> str:
    """The page within MLflow that opens an experiment on one of its saved views."""
    query = f"?workflowType=machine_learning&compareRunsMode=CHART&viewStateShareKey={view}"
    return f"#/experiments/{experiment}/runs{query}"
