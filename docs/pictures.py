"""Draws the pictures of "How it works", from the project's public API alone, and prints the figures the text quotes.

python docs/pictures.py             # a minute; writes docs/pictures/*.png
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from objectives import make_objective
from rcgp import Optimizer, PlateauIMQ, make_optimizer

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

FOLDER = Path(__file__).parent / "pictures"
BLUE, RED, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "0.6"
STYLE: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
OBJECTIVE = make_objective("forrester", negate=True, noise_std=0.3)
GRID = np.linspace(0.0, 1.0, 201)[:, None]
TRUTH = np.array([OBJECTIVE.noiseless(x) for x in GRID])


def observations(n: int = 14) -> tuple[np.ndarray, np.ndarray]:
    """Points (`n x 1`) spread over the interval, in random order, and honest reports (`n`)."""
    rng = np.random.default_rng(3)
    X = rng.permutation((np.arange(n)[:, None] + rng.random((n, 1))) / n)
    return X, np.array([OBJECTIVE.evaluate(x, rng) for x in X])


def informed(name: str, X: np.ndarray, y: np.ndarray, **options: Any) -> Optimizer:
    """An optimizer that was told these observations one by one, as in a search."""
    optimizer = make_optimizer(name, dim=1, seed=0, n_initial=5, **options)
    for point, value in zip(X, y, strict=True):
        optimizer.tell(point, value)
        optimizer.update()
    return optimizer


def draw_weights() -> Figure:
    """Trust and pull as functions of the residual, for the GP, the IMQ and the plateau IMQ."""
    residual = np.linspace(-8, 8, 401)
    kinds = {"GP": (np.ones_like(residual), GREY), "IMQ": (1 / PlateauIMQ(0.0, 1.0)(residual)[0], RED)}
    kinds["P-IMQ, L = 2"] = (1 / PlateauIMQ(2.0, 1.0)(residual)[0], BLUE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.6), layout="constrained")
    for name, (trust, color) in kinds.items():
        left.plot(residual, trust, color=color, label=name)
        right.plot(residual, trust * residual, color=color)
    left.set(title="trust 1/J", xlabel="residual y - g(x)", ylim=(0, 1.1))
    right.set(title="pull, residual times trust", xlabel="residual y - g(x)", ylim=(-5, 5))
    left.legend(loc="lower center", fontsize=8)
    return figure


def draw_lie() -> Figure:
    """What the GP and A2-RCGP believe when one report of fourteen is a lie of 100."""
    X, y = observations()
    y[9] = 100.0
    figure, panels = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True, layout="constrained")
    for axis, name in zip(panels, ("gp-ucb", "a2-rcgp-ucb"), strict=True):
        belief = informed(name, X, y).posterior(GRID)
        axis.plot(GRID, TRUTH, color=GREY, linewidth=3, label="truth")
        axis.plot(GRID, belief.mean, color=BLUE, label="belief, ± 2 deviations")
        axis.fill_between(
            GRID[:, 0], belief.mean - 2 * belief.std, belief.mean + 2 * belief.std, color=BLUE, alpha=0.15
        )
        axis.plot(X, y, ".", color="black", label="report")
        axis.annotate("a lie of 100", (X[9, 0], 27), ha="center", color=RED)
        axis.plot([X[9, 0]], [24], "^", color=RED)
        axis.set(title=name, xlabel="x", ylim=(-20, 32))
    panels[1].legend(fontsize=8, loc="lower left")
    return figure


ARMS = {
    "gp-ucb": ("gp-ucb", {}, RED, "-"),
    "student-t-ucb": ("student-t-ucb", {}, "#CC79A7", "--"),
    "diagnostics-gp": ("diagnostics-gp", {}, GREEN, "-."),
    "fc-rcgp-ucb": ("fc-rcgp-ucb", {}, "#56B4E9", "-"),
    "a2-rcgp-ucb": ("a2-rcgp-ucb", {}, BLUE, "-"),
    "a2-rcgp-ucb, recipe=paper": ("a2-rcgp-ucb", {"recipe": "paper"}, "#E69F00", ":"),
}


def harm(name: str, options: dict[str, Any], size: float) -> float:
    """How far one lie, off by `size`, moves the believed function: root mean square over the interval."""
    X, y = observations()
    before = informed(name, X, y, **options).posterior(GRID).mean
    y[9] += size
    after = informed(name, X, y, **options).posterior(GRID).mean
    return float(np.sqrt(np.mean((after - before) ** 2)))


def draw_size() -> Figure:
    """The harm of one lie as it grows."""
    sizes = 10.0 ** np.arange(0, 13, 1.0)
    figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
    for label, (name, options, color, dashes) in ARMS.items():
        harms = [harm(name, options, size) for size in sizes]
        axis.loglog(sizes, harms, color=color, linestyle=dashes, label=label)
        print(f"{label:26} moved by {harms[1]:.2g} at 10, by {harms[6]:.2g} at 1e6, by {harms[12]:.2g} at 1e12")
    axis.set(xlabel="size of the lie (the function spans 22)", ylabel="change of the belief")
    axis.legend(fontsize=8)
    return figure


def believed(state: dict[str, Any], x: float, value: float) -> bool:
    """Whether A2, in this state, trusts one more report of `value` at `x`."""
    optimizer = make_optimizer("a2-rcgp-ucb", dim=1, seed=0, n_initial=5)
    optimizer.load_state_dict(state)
    optimizer.tell(np.array([x]), value)
    optimizer.update()
    return bool(optimizer.weights()[-1] > 0.5)


def limits(optimizer: Optimizer, x: float) -> Iterator[float]:
    """The lowest and the highest report at `x` that would be believed, by bisection from what is expected there."""
    state, middle = optimizer.state_dict(), float(optimizer.posterior(np.array([[x]])).mean[0])
    for sign in (-1.0, 1.0):
        near, far = 0.0, 100.0
        while far - near > 0.1:
            half = (near + far) / 2
            near, far = (half, far) if believed(state, x, middle + sign * half) else (near, half)
        yield middle + sign * near


def draw_rule() -> Figure:
    """Which reports A2 would believe, given honest ones in the left two thirds."""
    X, y = observations(30)
    y, X = y[X[:, 0] < 0.65], X[X[:, 0] < 0.65]
    optimizer = informed("a2-rcgp-ucb", X, y)
    places = np.linspace(0.0, 1.0, 41)
    low, high = np.array([list(limits(optimizer, x)) for x in places]).T
    figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
    axis.fill_between(places, low, high, color=BLUE, alpha=0.15, label="one more report here would be believed")
    axis.plot(GRID, TRUTH, color=GREY, linewidth=3, label="truth")
    axis.plot(X, y, ".", color="black", label="reports so far")
    axis.set(xlabel="x", ylabel="report")
    axis.legend(fontsize=8, loc="upper left")
    print(f"believed at x = 0.3: {low[12]:.2f} to {high[12]:.2f}; at x = 1: {low[-1]:.1f} to {high[-1]:.1f}")
    return figure


def compare_batch() -> None:
    """Trust in one lie among fourteen reports, told one by one and told all at once."""
    X, y = observations()
    for size in (10.0, 1000.0, 3000.0):
        reports = np.where(np.arange(len(y)) == 7, y + size, y)
        at_once = make_optimizer("a2-rcgp-ucb", dim=1, seed=0, n_initial=5)
        for point, value in zip(X, reports, strict=True):
            at_once.tell(point, value)
        at_once.update()
        trust = informed("a2-rcgp-ucb", X, reports).weights()[7], at_once.weights()[7]
        print(
            f"a lie of {size:g}, reports spanning {np.ptp(y):.0f}: trust {trust[0]:.2f} one by one, {trust[1]:.2f} at once"
        )


def main() -> None:
    compare_batch()
    FOLDER.mkdir(exist_ok=True)
    with plt.rc_context(STYLE):
        for draw in (draw_weights, draw_lie, draw_size, draw_rule):
            draw().savefig(FOLDER / f"{draw.__name__.removeprefix('draw_')}.png", dpi=110)


if __name__ == "__main__":
    main()
