"""The soak's study on Tune alone, continued with Tune's own restore: `python bare_tune.py FOLDER TRIALS`."""

import sys
from pathlib import Path

import numpy as np
import ray
from havoc import Havoc
from ray import tune


def trainable(config: dict) -> None:
    """One trial."""
    x = np.array([config["a"], config["b"]])
    tune.report({"y": Havoc(config["folder"], seconds=0.1).evaluate(x, np.random.default_rng(0))})


def main() -> None:
    """Run or continue the study until all its trials have ended."""
    folder, trials = Path(sys.argv[1]), int(sys.argv[2])
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    placed = tune.with_resources(trainable, {"cpu": 1})
    if tune.Tuner.can_restore(str(folder / "tune/bare")):
        tuner = tune.Tuner.restore(str(folder / "tune/bare"), placed, resume_errored=True)
    else:
        space = {"a": tune.uniform(0, 1), "b": tune.uniform(0, 1), "folder": str(folder)}
        failures = tune.FailureConfig(max_failures=50)
        tuner = tune.Tuner(
            placed,
            param_space=space,
            tune_config=tune.TuneConfig(num_samples=trials, metric="y", mode="max", reuse_actors=True),
            run_config=tune.RunConfig(
                name="bare", storage_path=str(folder / "tune"), verbose=0, failure_config=failures
            ),
        )
    print(len(tuner.fit()), "trials")


if __name__ == "__main__":
    main()
