"""Who regrets least, and when nobody can say."""

import pytest
from pandas import DataFrame, concat

from orchestrator.review.ranking import compared, figure, leaders, printable, regret_table, rightest

INITIAL = 9


def final_rows(rows: list[tuple[str, int, float]]) -> DataFrame:
    """A frame with one last trial for each study."""
    return DataFrame(
        [
            {
                "study": f"{algorithm}{seed}",
                "adversary": "liar",
                "algorithm": algorithm,
                "seed": seed,
                "number": 9,
                "cumulative_regret": regret,
                "simple_regret": 0.0,
            }
            for algorithm, seed, regret in rows
        ]
    )


def test_differences_are_paired_by_seed() -> None:
    """Regrets differ wildly between seeds, their difference does not: only pairing sees it."""
    frame = final_rows([("gp-ucb", 0, 100.0), ("gp-ucb", 1, 10.0), ("a2", 0, 91.0), ("a2", 1, 3.0)])
    table = regret_table(frame, INITIAL).set_index("algorithm")
    assert table.index.tolist() == ["a2", "gp-ucb"]
    assert table.loc["a2", "to_baseline_mean"] == -8.0
    assert table.loc["a2", "to_baseline_sem"] == pytest.approx(1.0)
    assert table.loc["gp-ucb", "to_best_mean"] == 8.0
    assert table.loc["a2", "cumulative_regret_sem"] == pytest.approx(44.0)
    shown = printable(table.reset_index())
    assert shown["minus gp-ucb"].tolist() == ["-8.0 ± 1.0", "-"]
    assert shown["cumulative regret"].tolist() == ["47 ± 44", "55 ± 45"]


def test_one_seed_and_no_gp_ucb_still_make_a_table() -> None:
    shown = printable(regret_table(final_rows([("a2", 0, 3.0), ("random", 0, 5.5)]), INITIAL))
    assert "minus gp-ucb" not in shown
    assert shown["cumulative regret"].tolist() == ["3", "5.5"]
    assert shown["wins"].tolist() == ["1 of 1", "0 of 1"]


def test_a_win_by_a_hair_is_a_tie() -> None:
    frame = final_rows(
        [("a2", 0, 10.0), ("fc", 0, 10.0001), ("a2", 1, 10.0), ("fc", 1, 12.0), ("a2", 2, 9.0), ("fc", 2, 8.0)]
    )
    table = regret_table(frame, INITIAL)
    assert dict(zip(table["algorithm"], table["wins"], strict=True)) == {"a2": 1, "fc": 1}
    assert leaders(table) == ["a2", "fc"], "less on average, but not seed by seed"
    assert printable(table)["wins"].tolist() == ["1 of 3", "1 of 3"]
    assert leaders(regret_table(final_rows([("a2", 0, 10.0), ("fc", 0, 10.01)]), INITIAL)) == ["a2", "fc"]
    clear = final_rows([("a2", 0, 10.0), ("fc", 0, 19.0), ("a2", 1, 10.0), ("fc", 1, 20.0)])
    assert leaders(regret_table(clear, INITIAL)) == ["a2"]


def curve(algorithm: str, seed: int, chosen: int, regret: float) -> DataFrame:
    """A study that has chosen so many trials, each of the same regret."""
    frame = DataFrame({"number": range(2 + chosen), "algorithm": algorithm, "seed": seed, "adversary": "liar"})
    total = ((frame["number"] - 1).clip(lower=0) * regret).astype(float)
    return frame.assign(study=f"{algorithm}{seed}", cumulative_regret=total, simple_regret=regret)


def test_an_unfinished_run_is_compared_where_all_have_been() -> None:
    """The worse algorithm has made fewer trials, and so has less regret: it does not lead for that."""
    frame = concat([curve("good", 0, 30, 1.0), curve("bad", 0, 4, 5.0), curve("new", 0, 0, 0.0)], ignore_index=True)
    table = regret_table(frame, 2)
    assert table["algorithm"].tolist() == ["good", "bad"], "who has chosen nothing is not ranked"
    assert table["trials"].tolist() == [4, 4]
    assert table["cumulative_regret_mean"].tolist() == [4.0, 20.0]


def test_algorithms_without_a_common_seed_are_not_compared() -> None:
    frame = concat([curve("a", 0, 9, 1.0), curve("b", 1, 3, 1.0)], ignore_index=True)
    trials, last = compared(frame[frame["number"] >= 2], 2)
    assert (trials, last["algorithm"].tolist()) == (9, ["a"])


def test_nothing_chosen_is_an_empty_table() -> None:
    assert regret_table(curve("a", 0, 0, 1.0), 2).empty


@pytest.mark.parametrize(
    ("mean", "sem", "shown"),
    [
        (633.2, 152.1, "633 ± 152"),
        (0.0723, 0.0721, "0.072 ± 0.072"),
        (3.0, float("nan"), "3"),
        (float("nan"), float("nan"), "-"),
        (1e308, 1e307, "1e+308 ± 1e+307"),
        (float("inf"), float("nan"), "inf"),
        (0.0, 0.0, "0 ± 0"),
    ],
)
def test_figures_have_the_digits_that_mean_something(mean: float, sem: float, shown: str) -> None:
    assert figure(mean, sem) == shown


def test_who_hands_over_the_best_need_not_be_who_regretted_least_on_the_way() -> None:
    means = {"quick": (3.0, 12.8), "thorough": (9.0, 0.0), "lucky": (20.0, 0.0), "unknown": (5.0, float("nan"))}
    rows = [(name, *both) for name, both in means.items()]
    table = DataFrame(rows, columns=["algorithm", "cumulative_regret_mean", "recommended_regret_mean"])
    assert rightest(table) == ["thorough", "lucky"]
    assert rightest(table.drop(columns="recommended_regret_mean")) == []
