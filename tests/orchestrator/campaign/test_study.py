"""Studies as data: identity, streams, differences."""

import dataclasses
import json

import numpy as np
import pytest

from orchestrator.campaign.study import ADVERSARY, NOISE, Component, Study, differences, stream

STUDY = Study(
    Component("random"), Component("forrester", {"noise_std": 0.5}), Component("crash", {"value": -3.0}), seed=4
)


def test_plain_data_and_back():
    assert Study.from_dict(json.loads(json.dumps(STUDY.to_dict()))) == STUDY


def test_the_key_names_what_differs_within_a_campaign():
    assert STUDY.key == "random.crash.seed4"


@pytest.mark.parametrize("change", [{"seed": 5}, {"trials": 31}, {"retries": 0}, {"crash_value": 0.0}, {"workers": 2}])
def test_any_change_shows_in_the_fingerprint_and_in_the_differences(change):
    other = dataclasses.replace(STUDY, **change)
    assert other.fingerprint() != STUDY.fingerprint()
    (key, value), *_ = change.items()
    assert differences(STUDY.to_dict(), other.to_dict()) == [f"{key}: {getattr(STUDY, key)!r} -> {value!r}"]


def test_a_changed_option_is_named_by_its_path():
    other = dataclasses.replace(STUDY, objective=Component("forrester", {"noise_std": 0.7}))
    assert differences(STUDY.to_dict(), other.to_dict()) == ["objective.options.noise_std: 0.5 -> 0.7"]


def test_studies_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        STUDY.seed = 1


def test_an_import_path_is_called_by_its_last_word():
    assert Component("my.module:Thing").label == "Thing"


def test_streams_are_the_same_for_everyone_and_different_for_every_use():
    draws = {stream(s, k, n).random() for s in (0, 1) for k in (NOISE, ADVERSARY) for n in range(10)}
    assert len(draws) == 40
    assert np.array_equal(stream(3, NOISE, 7).random(5), stream(3, NOISE, 7).random(5))
