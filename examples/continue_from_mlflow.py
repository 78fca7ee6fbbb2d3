"""Continue a search from an MLflow experiment that somebody else filled.

First an experiment is written as many projects have one: a run for each configuration, with its parameters and a metric,
from a manual random search in which two numbers were mistyped. Then `RCGPSearch.from_results` takes it from there: the old
runs are the first observations, believed as far as they deserve, and Tune spends its trials where they are worth most. The
typo of -20 is seen at once. The one of 0 might be true: trials are sent there, contradict it, and then it is doubted as well.

    python examples/continue_from_mlflow.py [--trials 24]
"""

import argparse
import math
import tempfile
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import ray
from ray import tune

from orchestrator import RCGPSearch

SPACE = {"learning_rate": tune.loguniform(1e-4, 1.0), "dropout": tune.uniform(0.0, 0.8)}


def loss(config: dict[str, Any]) -> float:
    """A stand-in for a training run: best at learning_rate = 0.01, dropout = 0.3, where it is 0.2."""
    return 0.2 + 0.1 * (math.log10(config["learning_rate"]) + 2) ** 2 + 2 * (config["dropout"] - 0.3) ** 2


def fill_experiment(uri: str, runs: int = 20) -> None:
    """What is there already."""
    client, rng = mlflow.MlflowClient(uri), np.random.default_rng(0)
    experiment = client.create_experiment("manual-search", artifact_location=Path(tempfile.mkdtemp()).as_uri())
    for number in range(runs):
        config = {"learning_rate": float(10 ** rng.uniform(-4, 0)), "dropout": float(rng.uniform(0, 0.8))}
        run = client.create_run(experiment).info.run_id
        for name, value in config.items():
            client.log_param(run, name, value)
        client.log_metric(run, "loss", {7: 0.0, 13: -20.0}.get(number, loss(config)))
        client.set_terminated(run)


def train(config: dict[str, Any]) -> None:
    tune.report({"loss": loss(config)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=24)
    trials = parser.parse_args().trials
    uri = f"sqlite:///{Path(tempfile.mkdtemp()) / 'mlflow.db'}"
    fill_experiment(uri)

    searcher = RCGPSearch.from_results("manual-search", metric="loss", mode="min", tracking_uri=uri)
    ray.init(address="local", include_dashboard=False, log_to_driver=False)
    tuner = tune.Tuner(
        train,
        param_space=SPACE,
        tune_config=tune.TuneConfig(num_samples=trials, search_alg=searcher, reuse_actors=True),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), verbose=0),
    )
    tuner.fit()

    best = searcher.best()
    values = ", ".join(f"{name} = {value:.3g}" for name, value in best.config.items())
    print(f"{len(searcher.observations)} observations, {trials} of them new")
    print(f"believed best: {values}, loss {loss(best.config):.3f} (the minimum is 0.2)")
    for suspect in searcher.suspects():
        print(f"doubted: a loss of {suspect.reported:g} where {suspect.expected:.2f} was expected")


if __name__ == "__main__":
    main()
