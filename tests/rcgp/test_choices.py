"""Messages about unknown names."""

from rcgp.choices import did_you_mean, unknown


def test_the_nearest_name_is_offered_and_all_are_listed() -> None:
    assert unknown("kernel", "rfb", ["rbf", "matern52"]) == (
        "Unknown kernel 'rfb' (did you mean 'rbf'?): choose one of rbf, matern52."
    )


def test_nothing_is_offered_where_nothing_is_near() -> None:
    assert did_you_mean("cubic", ["rbf", "matern52"]) == ""
