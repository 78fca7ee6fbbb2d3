"""Lies, suspects and false alarms."""

from pandas import DataFrame

from orchestrator.review.forensics import forensics, forensics_table


def test_forensics_count_lies_suspects_and_false_alarms() -> None:
    trials = [
        (True, 0.1, False),
        (True, 1.0, False),
        (False, 0.4, False),
        (False, 0.5, False),
        (False, 1.0, False),
        (False, 0.0, True),
    ]
    frame = DataFrame(trials, columns=["corrupted", "weight", "failed"]).assign(adversary="liar", algorithm="a2")
    assert forensics(frame)["verdict"].tolist() == ["caught", "missed", "alarm", "honest", "honest"]
    (row,) = forensics_table(frame).to_dict("records")
    assert (row["lies"], row["suspects"], row["caught"], row["precision"], row["recall"]) == (2, 2, 1, 0.5, 0.5)


def test_where_every_trial_failed_there_is_nothing_to_count() -> None:
    frame = DataFrame([(False, 1.0, True)], columns=["corrupted", "weight", "failed"])
    table = forensics_table(frame.assign(adversary="liar", algorithm="a2"))
    assert table.empty
    assert table.groupby("algorithm")[["lies", "caught", "suspects"]].sum().empty
