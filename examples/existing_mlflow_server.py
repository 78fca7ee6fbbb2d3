"""Keep your Tuner and your MLflow server; add how far every trial is believed.

One callback writes the sweep as one parent run with a child for each trial. Every child carries the weight of its report and
the tag `rcgp.trust`, the parent the configuration that is *believed* best, and a report with everything that is doubted. One
trial in fifteen reports its accuracy in per cent.

    python examples/existing_mlflow_server.py [--trials 30] [--tracking-uri http://my-server:5000]
"""

import argparse
import hashlib
import math
import tempfile
from pathlib import Path
from typing import Any

import mlflow
import ray
from ray import tune

from orchestrator import RCGPMLflowCallback, RCGPSearch

SPACE = {"learning_rate": tune.loguniform(1e-4, 1.0), "dropout": tune.uniform(0.0, 0.8)}


def accuracy(config: dict[str, Any]) -> float:
    """A stand-in for a training run: best at learning_rate = 0.01, dropout = 0.3, where it is 0.9."""
    return 0.9 - 0.1 * (math.log10(config["learning_rate"]) + 2) ** 2 - 1.5 * (config["dropout"] - 0.3) ** 2


def train(config: dict[str, Any]) -> None:
    in_per_cent = int(hashlib.sha256(f"red{sorted(config.items())}".encode()).hexdigest(), 16) % 15 == 0
    tune.report({"accuracy": accuracy(config) * (100.0 if in_per_cent else 1.0)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--tracking-uri", default=f"sqlite:///{Path(tempfile.mkdtemp()) / 'mlflow.db'}")
    options = parser.parse_args()
    ray.init(address="local", include_dashboard=False, log_to_driver=False)

    searcher = RCGPSearch()
    callback = RCGPMLflowCallback(searcher, experiment="with-trust", tracking_uri=options.tracking_uri)
    tuner = tune.Tuner(
        train,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="accuracy", mode="max", num_samples=options.trials, search_alg=searcher, reuse_actors=True
        ),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), verbose=0, callbacks=[callback]),
    )
    tuner.fit()

    mlflow.set_tracking_uri(options.tracking_uri)
    runs = mlflow.search_runs(experiment_names=["with-trust"])
    parent = runs[runs["tags.orchestrate.kind"] == "sweep"].iloc[0]
    children = runs[runs["tags.mlflow.parentRunId"] == parent["run_id"]]
    print(f"{options.tracking_uri}: one parent, {len(children)} children")
    print(parent["tags.mlflow.note.content"])
    print(children["tags.rcgp.trust"].value_counts().to_string())
    print("artifacts:", *sorted(file.path for file in mlflow.MlflowClient().list_artifacts(parent["run_id"])))


if __name__ == "__main__":
    main()
