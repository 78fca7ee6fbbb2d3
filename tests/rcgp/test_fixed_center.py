"""Whom FC-RCGP trusts."""

import numpy as np

from rcgp.fixed_center import paper_width


def test_the_authors_plateau_is_as_wide_as_its_largest_value_while_there_are_few() -> None:
    rng = np.random.default_rng(0)
    few, many = rng.standard_normal(15), rng.standard_normal(20_000)
    few[3], lost = 1e6, np.append(many, [np.inf, np.nan])
    assert paper_width(few) > 1e5
    assert abs(paper_width(many) - 1.96) < 0.05
    assert paper_width(lost) == paper_width(many)
