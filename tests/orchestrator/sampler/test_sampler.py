"""RCGPSampler in people's Optuna code: what it believes, what it learns from every kind of ending, what it refuses."""

import logging
import math
import pickle
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from orchestrator import RCGPSampler
from orchestrator.sampler import sampler as module
from orchestrator.sampler.space_model import SpaceModel

X = FloatDistribution(0.0, 1.0)


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def study_of(sampler: RCGPSampler, **options: Any) -> Study:
    return optuna.create_study(sampler=sampler, **options)


def bowl(trial: Trial) -> float:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return (x - 0.3) ** 2 + (y - 0.6) ** 2


def lying_bowl(trial: Trial) -> float:
    """Every seventh report is a million too good."""
    value = bowl(trial)
    return value - 1e6 if trial.number % 7 == 5 else value


def params_of(study: Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def known(sampler: RCGPSampler, study: Study) -> SpaceModel:
    """What the sampler knows about the parameters that all trials have."""
    model = sampler._common(study, sampler._shown(study))
    assert model is not None
    return model


# What it believes


def test_lies_are_doubted_and_the_best_trial_is_none_of_them() -> None:
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler)
    study.optimize(lying_bowl, n_trials=28)
    suspects, best = sampler.suspects(study), sampler.best(study)
    assert {suspect.number for suspect in suspects} == {5, 12, 19, 26}
    assert all(suspect.config == study.trials[suspect.number or 0].params for suspect in suspects)
    assert suspects[0].reported < -9e5
    assert abs(suspects[0].expected) < 1.0
    assert best.number not in (5, 12, 19, 26)
    assert best.reported < 0.02
    assert best.config == study.trials[best.number or 0].params
    assert sampler.best(study, robust=False).number == study.best_trial.number


def test_another_sampler_says_the_same_of_a_stored_study() -> None:
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler)
    study.optimize(lying_bowl, n_trials=20)
    other = RCGPSampler(seed=0)
    assert other.suspects(study) == sampler.suspects(study)
    assert other.best(study) == sampler.best(study)


def test_what_is_doubted_is_noted_on_trials_and_on_the_study(tmp_path: Path) -> None:
    study = study_of(RCGPSampler(seed=0), storage=f"sqlite:///{tmp_path}/study.db")
    study.optimize(lying_bowl, n_trials=14)
    frame = study.trials_dataframe()
    assert list(frame["number"][frame["user_attrs_rcgp:weight"] < 0.5]) == [5, 12]
    assert abs(frame["user_attrs_rcgp:expected"][12]) < 1.0
    stored = optuna.load_study(study_name=study.study_name, storage=f"sqlite:///{tmp_path}/study.db")
    assert set(stored.user_attrs["rcgp:suspects"]) == {"5", "12"}
    assert stored.user_attrs["rcgp:suspects"]["12"].keys() == {"weight", "reported", "expected"}


def test_an_honest_study_gets_no_suspects_and_none_of_it_can_be_switched_off() -> None:
    study = study_of(RCGPSampler(seed=0))
    study.optimize(bowl, n_trials=10)
    assert study.user_attrs == {}
    assert study.trials[-1].user_attrs.keys() == {"rcgp:weight", "rcgp:expected"}
    silent = study_of(RCGPSampler(seed=0, notes=False))
    silent.optimize(bowl, n_trials=10)
    assert silent.trials[-1].user_attrs == {}
    assert params_of(silent) == params_of(study)


def test_many_doubted_reports_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(RCGPSampler(seed=0, suspect_share=0.1))
    with caplog.at_level(logging.WARNING, "orchestrator"):
        study.optimize(lying_bowl, n_trials=24)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert lines[0].startswith("RCGPSampler doubts 2 of ")
    assert lines[0].endswith("look at sampler.suspects(study).")


def test_without_trials_there_are_no_suspects_and_no_best() -> None:
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler)
    assert sampler.suspects(study) == []
    with pytest.raises(ValueError, match="there is no best one"):
        sampler.best(study)


def test_maximising_is_minimising_the_opposite() -> None:
    low, high = study_of(RCGPSampler(seed=0)), study_of(RCGPSampler(seed=0), direction="maximize")
    low.optimize(lying_bowl, n_trials=12)
    high.optimize(lambda trial: -lying_bowl(trial), n_trials=12)
    assert params_of(low) == params_of(high)


# What it learns


def rows_after(*trials: FrozenTrial) -> list[tuple[str, float]]:
    """Status and value of what is learned from stored trials, beside one that completed with 1.0 at 0.5."""
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler, direction="maximize")
    study.add_trial(create_trial(params={"x": 0.5}, distributions={"x": X}, value=1.0))
    for trial in trials:
        study.add_trial(trial)
    return [(row.status, row.y) for row in known(sampler, study).trials.rows if row.x != (0.5,)]


def ended(state: TrialState, **fields: Any) -> FrozenTrial:
    return create_trial(state=state, params={"x": 0.2}, distributions={"x": X}, **fields)


@pytest.mark.parametrize(
    ("trial", "status", "value"),
    [
        (ended(TrialState.COMPLETE, value=0.3), "completed", 0.3),
        (ended(TrialState.COMPLETE, value=math.inf), "completed", math.inf),
        (ended(TrialState.COMPLETE, value=-math.inf), "failed", math.nan),
        (ended(TrialState.FAIL), "failed", math.nan),
        (ended(TrialState.PRUNED, intermediate_values={0: 0.1, 4: 0.2}), "completed", 0.2),
        (ended(TrialState.PRUNED, intermediate_values={0: 0.1, 1: math.nan}), "failed", math.nan),
        (ended(TrialState.PRUNED), "failed", math.nan),
    ],
)
def test_every_ending_has_a_meaning(trial: FrozenTrial, status: str, value: float) -> None:
    assert rows_after(trial) == [(status, pytest.approx(value, nan_ok=True))]


def test_an_objective_may_say_how_uncertain_it_is_and_where_it_ran(caplog: pytest.LogCaptureFixture) -> None:
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler)
    for error, node in ((0.25, "node-3"), ("small", None), (None, 7)):
        noted = {"rcgp:standard_error": error, "rcgp:reporter": node}
        attributes = {key: value for key, value in noted.items() if value is not None}
        study.add_trial(create_trial(params={"x": 0.5}, distributions={"x": X}, value=1.0, user_attrs=attributes))
    rows = known(sampler, study).trials.rows
    assert [(row.standard_error, row.reporter) for row in rows] == [(0.25, "node-3"), (None, None), (None, "7")]
    said = "Trial 1 has rcgp:standard_error = 'small', which is no number of at least 0: left out."
    assert [record.getMessage() for record in caplog.records] == [said]


def test_a_trial_without_a_parameter_says_nothing() -> None:
    elsewhere = create_trial(state=TrialState.FAIL, params={"z": 0.2}, distributions={"z": X})
    assert rows_after(elsewhere, create_trial(state=TrialState.FAIL)) == []


def test_trials_that_fail_are_learned_where_optuna_ignores_them() -> None:
    """A third of the range always fails, by an exception or with NaN; the best place is at its edge."""
    failures = {}

    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if x > 0.66:
            if trial.number % 2:
                raise RuntimeError("out of memory")
            return math.nan
        return -x

    for sampler in (RCGPSampler(seed=0), optuna.samplers.TPESampler(seed=0)):
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=30, catch=(RuntimeError,))
        failures[type(sampler)] = sum(trial.state != TrialState.COMPLETE for trial in study.trials[15:])
    assert failures[RCGPSampler] <= 7
    assert failures[optuna.samplers.TPESampler] >= 12


def test_a_retry_takes_the_place_of_the_failure() -> None:
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler, direction="maximize")
    study.add_trial(create_trial(params={"x": 0.5}, distributions={"x": X}, value=1.0))
    study.add_trial(ended(TrialState.FAIL))
    assert [row.status for row in known(sampler, study).trials.rows] == ["completed", "failed"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.storages.RetryHeartbeatStaleTrialCallback()(study, study.trials[1])
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    rows = known(sampler, study).trials.rows
    assert [(row.status, row.trial_id, row.y) for row in rows] == [("completed", "0", 1.0), ("completed", "2", 0.2)]


def test_an_ending_that_was_not_stored_is_not_believed() -> None:
    """Someone else ended the trial first: what `after_trial` was told never came to be."""
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler)
    study.optimize(bowl, n_trials=6)
    trial = study.ask()
    bowl(trial)
    frozen = study.trials[-1]
    sampler.after_trial(study, frozen, TrialState.COMPLETE, [-5.0])
    study.tell(trial, state=TrialState.FAIL)
    rows = known(sampler, study).trials.rows
    assert len(rows) == 7
    assert rows[-1].status == "failed"


# Running trials


def test_running_trials_shape_suggestions() -> None:
    study = study_of(RCGPSampler(seed=0))
    study.optimize(bowl, n_trials=12)
    running = []
    for _ in range(6):
        trial = study.ask()
        bowl(trial)
        running.append(tuple(trial.params.values()))
    apart = [math.dist(a, b) for i, a in enumerate(running) for b in running[:i]]
    assert min(apart) > 0.01
    assert len(known(study.sampler, study).running()) == 6


def test_a_suggestion_is_known_to_others_before_its_parameters_are() -> None:
    study = study_of(RCGPSampler(seed=0))
    study.optimize(bowl, n_trials=4)
    trial = study.ask()
    x = trial.suggest_float("x", 0, 1)  # `y` is suggested, and not yet asked for
    assert study.trials[-1].params == {"x": x}
    point = known(RCGPSampler(seed=0), study).running()[str(trial.number)]
    assert point == pytest.approx((x, trial.suggest_float("y", 0, 1)))


def test_a_trial_that_is_enqueued_counts_where_it_runs() -> None:
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler)
    study.optimize(bowl, n_trials=4)
    study.enqueue_trial({"x": 0.125})
    trial = study.ask()
    bowl(trial)
    assert known(sampler, study).running()[str(trial.number)] == pytest.approx((0.125, trial.params["y"]))
    study.tell(trial, 1.0)
    assert known(sampler, study).trials.rows[-1].x == pytest.approx((0.125, trial.params["y"]))


def test_two_processes_do_not_have_the_same_idea_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ask before either has said what it suggests: with one seed they would try the same point."""
    study = study_of(RCGPSampler(seed=0))
    study.optimize(bowl, n_trials=8)
    both_have_asked, publish, published = threading.Barrier(2), module.publish, threading.local()

    def publish_together(*arguments: Any) -> Any:
        if not hasattr(published, "before"):
            both_have_asked.wait(timeout=20)
        published.before = True
        return publish(*arguments)

    monkeypatch.setattr(module, "publish", publish_together)
    found: list[dict[str, Any]] = []

    def work() -> None:
        own = optuna.load_study(study_name=study.study_name, storage=study._storage, sampler=RCGPSampler(seed=0))
        trial = own.ask()
        bowl(trial)
        found.append(trial.params)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert math.dist(found[0].values(), found[1].values()) > 0.01


def test_threads_share_a_sampler() -> None:
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler)
    study.optimize(lying_bowl, n_trials=24, n_jobs=4)
    points = {tuple(trial.params.values()) for trial in study.trials}
    assert len(points) == 24
    assert len(known(sampler, study).trials.rows) == 24
    assert {12, 19} <= {suspect.number for suspect in sampler.suspects(study)}, "5 may be among the very first results"
    assert sampler.best(study).number not in (5, 12, 19)


# Storage and seed


def test_the_same_seed_gives_the_same_trials_and_another_one_others() -> None:
    first, again, other = (study_of(RCGPSampler(seed=seed)) for seed in (3, 3, 4))
    for study in (first, again, other):
        study.optimize(lying_bowl, n_trials=15)
    assert params_of(first) == params_of(again)
    assert params_of(first)[3:] != params_of(other)[3:]
    assert RCGPSampler().settings.seed != RCGPSampler().settings.seed


def test_a_study_that_is_interrupted_goes_on_as_if_it_had_not_been() -> None:
    whole = study_of(RCGPSampler(seed=0))
    whole.optimize(lying_bowl, n_trials=20)
    storage = optuna.storages.InMemoryStorage()
    study_of(RCGPSampler(seed=0), storage=storage, study_name="s").optimize(lying_bowl, n_trials=11)
    resumed = optuna.load_study(study_name="s", storage=storage, sampler=RCGPSampler(seed=0))
    resumed.optimize(lying_bowl, n_trials=9)
    assert params_of(resumed) == params_of(whole)


def test_a_pickled_sampler_goes_on_as_the_original() -> None:
    study = study_of(RCGPSampler(seed=0))
    study.optimize(bowl, n_trials=10)
    copied = pickle.loads(pickle.dumps(study))
    for each in (study, copied):
        each.optimize(bowl, n_trials=3)
    assert params_of(copied) == params_of(study)


def test_only_what_is_new_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[int] = []
    end = SpaceModel._end
    monkeypatch.setattr(SpaceModel, "_end", lambda self, trial: (learned.append(trial.number), end(self, trial))[1])
    study = study_of(RCGPSampler(seed=0))
    study.optimize(bowl, n_trials=15)
    assert learned == list(range(15)), "each once: one model, extended"


def test_one_sampler_serves_several_studies_and_brackets() -> None:
    sampler = RCGPSampler(seed=0)
    left, right = study_of(sampler), study_of(sampler, direction="maximize")
    for _ in range(8):
        left.optimize(bowl, n_trials=1)
        right.optimize(bowl, n_trials=1)
    alone = study_of(RCGPSampler(seed=0))
    alone.optimize(bowl, n_trials=8)
    assert params_of(left) == params_of(alone)
    assert len(known(sampler, right).trials.rows) == 8


def test_hyperband_shows_its_brackets_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[tuple[int, int]] = []
    end = SpaceModel._end
    monkeypatch.setattr(
        SpaceModel, "_end", lambda self, trial: (learned.append((id(self), trial.number)), end(self, trial))
    )

    def objective(trial: Trial) -> float:
        value = bowl(trial)
        for step in range(9):
            trial.report(value + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9, reduction_factor=3)
    study = study_of(RCGPSampler(seed=0), pruner=pruner)
    study.optimize(objective, n_trials=30)
    assert len(study.trials) == 30
    assert len(learned) == len(set(learned)), "no bracket is learned anew when it has its turn"


# Branches and changing ranges


def test_a_parameter_of_a_branch_is_learned_by_a_model_of_its_own() -> None:
    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("kind", ["linear", "tree"]) == "linear":
            return 1.0 + abs(trial.suggest_float("slope", -1, 1) - 0.5)
        return abs(trial.suggest_int("depth", 1, 30) - 12) / 10

    study = study_of(RCGPSampler(seed=0))
    study.optimize(objective, n_trials=40)
    late = [trial.params for trial in study.trials[20:]]
    depths = [params["depth"] for params in late if "depth" in params]
    assert len(depths) > len(late) / 2
    assert np.median([abs(depth - 12) for depth in depths]) <= 3
    assert study.best_value <= 0.1


def test_with_branches_the_best_is_the_best_report_that_is_believed() -> None:
    """Three trials of the common parameter look alike there; one of them is the best, and one a lie."""
    sampler = RCGPSampler(seed=0)
    study = study_of(sampler)
    for number in range(24):
        own = f"depth{number % 2}"
        value = -1e6 if number == 15 else 0.95 if number == 20 else 1.0 + 0.1 * (number % 5)
        params = {"x": number % 8 / 8, own: 0.5}
        study.add_trial(create_trial(params=params, distributions=dict.fromkeys(params, X), value=value))
    assert sampler.best(study).number == 20
    assert sampler.best(study).config == {"x": 0.5, "depth0": 0.5}
    assert sampler.best(study, robust=False).number == 15


def test_the_independent_sampler_may_be_another() -> None:
    fixed = optuna.samplers.RandomSampler(seed=5)
    study = study_of(RCGPSampler(seed=0, independent_sampler=fixed))
    study.optimize(bowl, n_trials=2)
    plain = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=5))
    plain.optimize(bowl, n_trials=1)
    assert study.trials[0].params == plain.trials[0].params
    study.sampler.reseed_rng()


def test_parameters_sampled_at_random_have_nothing_to_do_with_each_other() -> None:
    study = study_of(RCGPSampler(seed=0, algorithm="random"))
    points = []
    for _ in range(30):  # nothing completes: every parameter is suggested alone
        trial = study.ask()
        points.append([trial.suggest_float(name, 0, 1) for name in ("a", "b")])
    assert abs(np.corrcoef(np.array(points).T)[0, 1]) < 0.5


# What it refuses


def test_several_objectives_are_refused_in_one_line() -> None:
    study = study_of(RCGPSampler(), directions=["minimize", "maximize"])
    line = "^RCGPSampler has a single objective, the study has 2: give create_study one direction.$"
    with pytest.raises(ValueError, match=line):
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0), n_trials=1)
    with pytest.raises(ValueError, match=line):
        study.sampler.suspects(study)


def test_constraints_are_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match="^RCGPSampler knows no constraints: leave constraints_func out, or use"):
        RCGPSampler(constraints_func=lambda trial: [0.0])

    def constrained(trial: Trial) -> float:
        trial.set_constraint("size", 1.0)
        return bowl(trial)

    study = study_of(RCGPSampler())
    with pytest.raises(ValueError, match="^RCGPSampler knows no constraints, trial 0 has one: return a bad value"):
        study.optimize(constrained, n_trials=3)
    assert len(study.trials) == 1


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"algorithm": "gp-usb"}, "unknown algorithm 'gp-usb'"),
        ({"n_startup_trials": 0}, "n_initial must be a whole number of at least 1, got 0"),
        ({"on_error": "forget"}, "on_error must be 'region', 'pessimistic', 'ignore' or a finite number, got 'forget'"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"schedul": "paper"}, "a2-rcgp-ucb has no option 'schedul'"),
    ],
)
def test_a_wrong_setting_shows_when_it_is_given(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=f"(?i){line}"):
        RCGPSampler(**settings)
