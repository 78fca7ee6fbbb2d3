"""Ray's OptunaSearch takes the sampler as any other."""

import pickle
from pathlib import Path

import optuna
import pytest
from ray import tune
from ray.tune.search.optuna import OptunaSearch

from orchestrator import RCGPSampler


def loss(config: dict[str, float]) -> float:
    return (config["x"] - 0.3) ** 2 + abs(config["n"] - 4) / 10


def test_it_suggests_and_learns_and_survives_being_saved(tmp_path: Path) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {"x": tune.uniform(0, 1), "n": tune.randint(0, 10), "c": tune.choice(["a", "b"])}
    search = OptunaSearch(space, metric="loss", mode="min", sampler=RCGPSampler(seed=0))
    for number in range(16):
        config = search.suggest(str(number))
        value = -1e6 if number == 11 else loss(config)
        search.on_trial_complete(str(number), {"loss": value, "training_iteration": 1})
        if number == 8:  # as Tune saves it, and goes on
            search.save(str(tmp_path / "state"))
            search = OptunaSearch(space, metric="loss", mode="min", sampler=RCGPSampler(seed=0))
            search.restore(str(tmp_path / "state"))
    sampler, study = search._sampler, search._ot_study
    assert isinstance(sampler, RCGPSampler)
    assert [suspect.number for suspect in sampler.suspects(study)] == [11]
    assert sampler.best(study).number != 11
    assert pickle.loads(pickle.dumps(sampler)).best(study) == sampler.best(study)


@pytest.mark.slow
@pytest.mark.ray
def test_it_runs_under_a_tuner(local_ray: None, tmp_path: Path) -> None:
    def train(config: dict[str, float]) -> None:
        tune.report({"loss": loss(config)})

    search = OptunaSearch(metric="loss", mode="min", sampler=RCGPSampler(seed=0))
    tuner = tune.Tuner(
        train,
        param_space={"x": tune.uniform(0, 1), "n": tune.randint(0, 10)},
        tune_config=tune.TuneConfig(num_samples=12, search_alg=search, max_concurrent_trials=2, reuse_actors=True),
        run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
    )
    results = tuner.fit()
    assert len(results) == 12
    assert results.num_errors == 0
    handed_over = search._sampler.best(search._ot_study).reported  # what is believed, not the luckiest
    assert handed_over <= min(result.metrics["loss"] for result in results) + 0.1
