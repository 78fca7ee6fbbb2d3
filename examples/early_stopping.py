"""Early stopping that is not misled: a small network on digits with wrong labels, where the best configurations learn slowly.

Three labels in ten are wrong. A high learning rate is ahead after an epoch and ends with the wrong labels learned by heart; a low
one starts slowly and ends best. ASHA stops the slow ones. RobustASHAScheduler asks the searcher's model first, which learns from
all curves where a trial would end. Both runs spend about the same number of epochs.

    python examples/early_stopping.py [--epochs 200]
"""

import argparse
import os
import tempfile
from typing import Any

os.environ.setdefault("TUNE_WARN_THRESHOLD_S", "10")

import numpy as np
import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler, TrialScheduler
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from orchestrator import RCGPSearch, RobustASHAScheduler

FULL = 27
SPACE = {"learning_rate": tune.loguniform(1e-4, 1e-1), "alpha": tune.loguniform(1e-6, 1e-1)}


def data() -> tuple[Any, Any, Any, Any]:
    """500 training digits, three labels in ten of them wrong, and the others to validate on."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    X, y = X[order] / 16, y[order]
    wrong = np.where(rng.random(500) < 0.3, rng.integers(10, size=500), y[:500])
    return X[:500], wrong, X[500:], y[500:]


def train(config: dict[str, Any]) -> None:
    """The user's trainable: one report an epoch."""
    X, y, X_val, y_val = data()
    net = MLPClassifier((100,), learning_rate_init=config["learning_rate"], alpha=config["alpha"], random_state=0)
    for _ in range(FULL):
        for rows in np.array_split(np.random.default_rng(0).permutation(len(y)), 16):
            net.partial_fit(X[rows], y[rows], classes=range(10))
        tune.report({"accuracy": net.score(X_val, y_val)})


def run(scheduler: TrialScheduler, searcher: RCGPSearch, epochs: int) -> int:
    """Search until so many epochs are spent; how many were."""
    spent = 0

    class Budget(tune.Stopper):
        def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
            nonlocal spent
            spent += 1
            return False

        def stop_all(self) -> bool:
            return spent >= epochs

    tune.Tuner(
        train,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="accuracy",
            mode="max",
            search_alg=searcher,
            scheduler=scheduler,
            num_samples=epochs,
            max_concurrent_trials=2,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), stop=Budget(), verbose=0),
    ).fit()
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=200)
    epochs = parser.parse_args().epochs
    ray.init(address="local", include_dashboard=False, log_to_driver=False)
    schedulers = {
        "ASHAScheduler": ASHAScheduler(max_t=FULL, reduction_factor=3),
        "RobustASHAScheduler": RobustASHAScheduler(max_t=FULL, reduction_factor=3),
    }
    for name, scheduler in schedulers.items():
        searcher = RCGPSearch(max_resource=FULL)
        spent = run(scheduler, searcher, epochs)
        best, rows = searcher.best(), searcher.observations
        in_full = sum(row.rungs[-1][0] >= FULL for row in rows if row.rungs)
        print(f"{name}: {len(rows)} trials, {in_full} of them in full, {spent} epochs")
        print(f"    best(): learning rate {best.config['learning_rate']:.2g}, expected to end at {best.expected:.3f}")


if __name__ == "__main__":
    main()
