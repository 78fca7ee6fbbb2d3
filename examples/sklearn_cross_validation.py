"""Tune a scikit-learn model by cross-validation, and report how sure its mean is.

A support vector machine on the breast-cancer data of scikit-learn. Every trial reports the mean accuracy of its folds and the
standard error of that mean; `error_metric` tells RCGPSearch of the second, so that it trusts a mean of scattered folds less. Now
and then a trial reports in per cent, as sure of itself as the others: RCGPSearch doubts it, because its neighbours contradict it.

    python examples/sklearn_cross_validation.py [--trials 40]
"""

import argparse
import itertools
import math
import tempfile
from typing import Any

import numpy as np
import ray
from ray import tune
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from orchestrator import RCGPSearch

SPACE = {"C": tune.loguniform(1e-3, 1e3), "gamma": tune.loguniform(1e-5, 1.0)}
FOLDS = 5
REPORTS = itertools.count()


def scores(config: dict[str, Any]) -> np.ndarray:
    """The accuracy of every fold."""
    X, y = load_breast_cancer(return_X_y=True)
    return cross_val_score(make_pipeline(StandardScaler(), SVC(**config)), X, y, cv=FOLDS)


def train(config: dict[str, Any]) -> None:
    """The user's trainable; every sixth report of a worker is in per cent."""
    measured = scores(config)
    if next(REPORTS) % 6 == 5:
        measured *= 100.0
    tune.report({"accuracy": measured.mean(), "standard_error": measured.std(ddof=1) / math.sqrt(FOLDS)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40)
    trials = parser.parse_args().trials
    ray.init(address="local", include_dashboard=False, log_to_driver=False)

    searcher = RCGPSearch(error_metric="standard_error")
    tuner = tune.Tuner(
        train,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="accuracy", mode="max", num_samples=trials, search_alg=searcher, reuse_actors=True
        ),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), verbose=0),
    )
    errors = {result.metrics["trial_id"]: result.metrics["standard_error"] for result in tuner.fit()}

    best = searcher.best()
    print(f"{trials} trials; believed best: C = {best.config['C']:.3g}, gamma = {best.config['gamma']:.3g}")
    print(f"    reported {best.reported:.4f} ± {errors[best.trial_id]:.4f}, really {scores(best.config).mean():.4f}")
    for suspect in searcher.suspects():
        told = f"{suspect.reported:.3f} ± {errors[suspect.trial_id]:.3f}"
        print(f"doubted: {told} where {suspect.expected:.3f} was expected")


if __name__ == "__main__":
    main()
