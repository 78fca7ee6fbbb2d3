"""Campaign files: the grid they stand for, and one clear line for each way to get them wrong."""

import textwrap
from datetime import date
from pathlib import Path

import pytest

from orchestrator.campaign.campaign import Campaign, find, parse_settings, read_yaml, shipped
from orchestrator.engine.runner import check
from orchestrator.errors import UserError

GOOD = {"name": "mine", "objective": "forrester", "algorithms": ["random", "gp-ucb"], "trials": 4}


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(textwrap.dedent(text))
    return path


def test_the_shipped_campaigns_are_the_papers():
    sizes = {name: (len(c.studies()), c.trials, c.initial) for name in shipped() for c in [Campaign.load(name)]}
    assert sizes == {
        "bad-node": (10, 60, 5),
        "cifar10": (50, 140, 10),
        "forrester": (50, 100, 5),
        "forrester-clean": (50, 30, 5),
        "forrester-unbounded": (50, 100, 5),
        "lander": (50, 300, 10),
        "resnet": (50, 140, 10),
        "smoke": (6, 15, 5),
    }


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_shipped_campaign_names_only_what_exists(name):
    check(Campaign.load(name), address="auto")  # on a cluster: data and devices are looked for where the trials run


def test_missing_data_is_one_line_before_the_first_trial(tmp_path):
    campaign = Campaign.load("cifar10", {"objective.device": "cpu", "objective.data_dir": str(tmp_path)})
    with pytest.raises(UserError, match=f"CIFAR-10 is missing: looked for {tmp_path}"):
        check(campaign)


@pytest.mark.parametrize("name", sorted(shipped()))
def test_plain_data_and_back(name):
    campaign = Campaign.load(name)
    assert Campaign.from_dict(campaign.to_dict()) == campaign


def test_the_grid_is_complete_and_every_study_has_its_own_name():
    grid = Campaign.from_dict(GOOD | {"adversaries": ["honest", "crash"], "seeds": [3, 5]}).studies()
    assert len(grid) == len({s.key for s in grid}) == 8
    assert [s.seed for s in grid] == [3] * 4 + [5] * 4
    assert {(s.trials, s.initial, s.total) for s in grid} == {(4, 5, 9)}


def test_options_and_labels_make_variants_of_one_algorithm():
    campaign = Campaign.from_dict(
        GOOD | {"algorithms": ["gp-ucb", {"name": "gp-ucb", "label": "wide", "scale": 3.0}], "crash_value": -2}
    )
    plain, wide = campaign.studies()
    assert (plain.key, wide.key) == ("gp-ucb.honest.seed0", "wide.honest.seed0")
    assert wide.algorithm.options == {"scale": 3.0}
    assert wide.crash_value == -2.0
    assert Campaign.from_dict(campaign.to_dict()) == campaign


def test_everything_a_file_may_say_reaches_the_study(tmp_path):
    path = write(
        tmp_path,
        """
        objective: {name: forrester, noise_std: 1e-3}
        algorithms: random
        seeds: 2
        trials: 7
        workers: 3
        resources: {cpus: 0.5, gpus: 0.25}
        limits: {trial_seconds: 60, total_seconds: 3600}
        retries: 0
        tracking: {enabled: false, uri: "sqlite:///x.db"}
        """,
    )
    campaign = Campaign.load(path)
    study = campaign.studies()[1]
    assert campaign.name == "mine"
    assert study.objective.options == {"noise_std": 0.001}, "1e-3 is a number"
    assert (study.seed, study.workers, study.cpus, study.gpus) == (1, 3, 0.5, 0.25)
    assert (study.trial_seconds, study.retries, campaign.limits.total_seconds) == (60.0, 0, 3600.0)
    assert campaign.tracking.enabled is False


def test_overrides_reach_into_sections_and_components():
    given = {"trials": 2, "limits.trial_seconds": 9, "objective.noise_std": 0.1}
    study = Campaign.from_dict(GOOD, given).studies()[0]
    assert (study.trials, study.trial_seconds, study.objective.options) == (2, 9.0, {"noise_std": 0.1})


def test_settings_are_read_as_yaml():
    assert parse_settings(["trials=3", "objective.noise_std=1e-3", "seeds=[1, 2]", "crash_value=null"]) == {
        "trials": 3,
        "objective.noise_std": 0.001,
        "seeds": [1, 2],
        "crash_value": None,
    }
    for bad in ("trials", "=3", "a..b=3"):
        with pytest.raises(UserError, match="must read KEY=VALUE"):
            parse_settings([bad])


ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)
BAD_VALUES = {
    "trials-zero": ({"trials": 0}, "trials should be greater than or equal to 1, got 0"),
    "trials-word": ({"trials": "ten"}, "trials should be a valid integer, got 'ten'"),
    "trials-fraction": ({"trials": 2.5}, "trials should be a valid integer, got 2.5"),
    "trials-bool": ({"trials": True}, "trials should be a valid integer, got True"),
    "seeds-zero": ({"seeds": 0}, "seeds must be a number of seeds between 1 and 10000"),
    "seeds-negative": ({"seeds": [-1]}, "seeds.0 should be greater than or equal to 0, got -1"),
    "seeds-huge": ({"seeds": [2**40]}, "seeds.0 should be less than"),
    "seeds-empty": ({"seeds": []}, "seeds should have at least 1 item"),
    "seeds-twice": ({"seeds": [1, 1]}, "holds a seed twice"),
    "workers-zero": ({"workers": 0}, "workers should be greater than or equal to 1"),
    "initial-zero": ({"initial": 0}, "initial should be greater than or equal to 1"),
    "retries": ({"retries": -1}, "retries should be greater than or equal to 0"),
    "cpus": ({"resources": {"cpus": -1}}, "resources.cpus should be greater than or equal to 0"),
    "seconds": ({"limits": {"trial_seconds": 0}}, "limits.trial_seconds should be greater than 0"),
    "seconds-inf": ({"limits": {"trial_seconds": float("inf")}}, "limits.trial_seconds should be a finite number"),
    "crash": ({"crash_value": float("nan")}, "crash_value should be a finite number"),
    "algorithms-none": ({"algorithms": []}, "algorithms should have at least 1 item"),
    "algorithms-nameless": ({"algorithms": [{"scale": 1}]}, "algorithms.0 must be a name"),
    "algorithms-twice": ({"algorithms": ["random", "random"]}, "random appears twice; give each its own label"),
    "key": ({"trails": 3}, "unknown key 'trails'; did you mean 'trials'?"),
    "key-inner": ({"limits": {"trial_second": 3}}, "unknown key 'limits.trial_second'; did you mean 'trial_seconds'?"),
    "scheduler": ({"scheduler": "ascha"}, "scheduler.name must be one of asha (did you mean 'asha'?), got 'ascha'"),
    "scheduler-key": (
        {"scheduler": {"name": "asha", "grase": 1}},
        "unknown key 'scheduler.grase'; did you mean 'grace'?",
    ),
    "scheduler-value": (
        {"scheduler": {"name": "asha", "reduction": 1}},
        "scheduler.reduction should be greater than 1",
    ),
    "name-slash": ({"name": "a/b"}, "name 'a/b' must consist of"),
    "name-dots": ({"name": ".."}, "name '..' must consist of"),
    "name-long": ({"name": "x" * 101}, "must consist of at most 100 letters"),
    "option-date": ({"objective": {"name": "a:B", "since": date(2001, 1, 1)}}, "has a date in since"),
    "option-key": ({"objective": {"name": "a:B", "steps": {1: 2}}}, "has the key 1 in steps, which must be text"),
    "option-endless": ({"adversaries": [{"name": "a:B", "steps": ENDLESS}]}, "nests steps more than 20 levels deep"),
    "label-dots": ({"algorithms": [{"name": "random", "label": "../x"}]}, "must consist of"),
}


@pytest.mark.parametrize(("change", "line"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_bad_value_is_one_line_that_names_it(change, line):
    with pytest.raises(UserError) as refusal:
        Campaign.from_dict(GOOD | change, source="mine.yaml")
    assert line in str(refusal.value)
    assert str(refusal.value).startswith("mine.yaml: ")
    assert "\n" not in str(refusal.value)


BAD_PARTS = {
    "algorithm": ({"algorithms": ["gp-ucp"]}, "gp-ucp"),
    "algorithm-option": ({"algorithms": [{"name": "gp-ucb", "scael": 1}]}, "scale"),
    "objective": ({"objective": "forester"}, "Did you mean 'forrester'?"),
    "objective-option": ({"objective": {"name": "forrester", "noise": 1}}, "noise_std"),
    "no-progress": (
        {"scheduler": "asha"},
        "scheduler asha: forrester reports no progress that a trial could be stopped by",
    ),
    "grace": (
        {"scheduler": {"name": "asha", "grace": 4}, "objective": "lander"},
        "scheduler.grace must be less than the 4 steps of a whole trial, got 4",
    ),
    "objective-import": ({"objective": "no.such.module:Thing"}, "no.such.module"),
    "adversary": ({"adversaries": ["clairvoyent"]}, "Did you mean 'clairvoyant'?"),
    "adversary-option": ({"adversaries": [{"name": "crash", "valeu": 1}]}, "value"),
    "budget": ({"adversaries": [{"name": "crash", "budget": -1}]}, "-1"),
    "budget-word": ({"adversaries": [{"name": "crash", "budget": "much"}]}, "much"),
}


@pytest.mark.parametrize(("change", "line"), BAD_PARTS.values(), ids=BAD_PARTS)
def test_a_part_that_cannot_be_built_is_refused_before_the_first_trial(change, line):
    with pytest.raises(UserError) as refusal:
        check(Campaign.from_dict(GOOD | change))
    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)


BAD_FILES = {
    "empty": ("", "is empty"),
    "list": ("- 1\n- 2\n", "must be a mapping"),
    "word": ("hello", "must be a mapping"),
    "number-key": ("1: 2\n", "must be a mapping"),
    "not-yaml": ("objective: [forrester\ntrials: 3\n", "line 2, column"),
    "tab": ("objective:\n\t- x\n", "line 2, column 1"),
    "duplicate": ("trials: 3\nobjective: forrester\ntrials: 4\n", "line 3, column 1: duplicate key 'trials'"),
    "duplicate-inner": ("limits:\n  total_seconds: 3\n  total_seconds: 4\n", "line 3, column 3: duplicate key"),
    "unsafe-tag": ("objective: !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
    "list-key": ("? [a, b]\n: 1\n", "line 1, column 3: this cannot be a key"),
    "no-such-date": ("objective: 2001-13-45\n", "month must be in 1..12"),
    "deep": ("a: " + "[" * 5000 + "]" * 5000, "nested too deeply"),
    "missing": ("objective: forrester\n", "algorithms is missing; trials is missing"),
}


@pytest.mark.parametrize(("text", "line"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_one_line_with_its_place(tmp_path, text, line):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as refusal:
        Campaign.load(path)
    assert line in str(refusal.value)
    assert str(refusal.value).startswith(str(path))
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_not_there_or_not_a_text(tmp_path):
    with pytest.raises(UserError, match="no such campaign file"):
        find(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="is a folder"):
        find(tmp_path)
    with pytest.raises(UserError, match="did you mean 'forrester'"):
        find("forester")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a text file"):
        read_yaml(tmp_path / "b.yaml")
