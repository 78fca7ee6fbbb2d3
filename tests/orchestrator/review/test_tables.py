"""Tables that can be pasted."""

from pandas import DataFrame

from orchestrator.review.tables import latex, markdown

TABLE = DataFrame(
    {"algorithm": ["a2_rcgp", "random"], "seeds": [2, 2], "cumulative_regret": ["4.0 ± 1.0", "1e5 & more"]}
)


def test_markdown_keeps_every_cell_as_it_is() -> None:
    head, _, first, second = [[c.strip() for c in line.split("|")[1:-1]] for line in markdown(TABLE).splitlines()]
    assert head == ["algorithm", "seeds", "cumulative regret"]
    assert first == ["a2_rcgp", "2", "4.0 ± 1.0"]
    assert second == ["random", "2", "1e5 & more"]


def test_latex_is_escaped_and_ruled() -> None:
    text = latex(TABLE)
    assert r"\begin{tabular}{lrr}" in text
    assert r"a2\_rcgp & 2 & 4.0 ± 1.0 \\" in text
    assert r"1e5 \& more" in text
    assert r"\toprule" in text
