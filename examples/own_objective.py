"""Your own objective: where to search and how to evaluate, given to a campaign by import path. Nothing is registered or forked.

The accuracy of a support vector machine on scikit-learn's wine data, as a function of C (on a log scale), of the number
of principal components it sees (an integer) and of its kernel (a choice).
`own_objective.yaml`, beside this file, is a campaign on it:

    orchestrate run examples/own_objective.yaml
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from objectives import Choice, ObjectiveBase, Parameter, Progress, Space


@dataclass(frozen=True)
class WineSVM(ObjectiveBase):
    """Cross-validated accuracy on a random share of the data; `share` is an option that the campaign may set."""

    space: ClassVar[Space] = Space(
        (
            Parameter("C", 1e-3, 1e3, log=True),
            Parameter("components", 1, 13, integer=True),
            Choice("kernel", ("linear", "poly", "rbf")),
        )
    )
    share: float = 0.8

    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        """The value to maximise at `x` in the unit cube; all randomness comes from `rng`."""
        from sklearn.datasets import load_wine  # heavy imports wait for the first evaluation
        from sklearn.decomposition import PCA
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC

        data, labels = load_wine(return_X_y=True)
        rows = rng.permutation(len(data))[: round(self.share * len(data))]
        values = self.space.to_units(x)  # such as {"C": 0.52, "components": 7, "kernel": "rbf"}
        model = make_pipeline(StandardScaler(), PCA(values["components"]), SVC(C=values["C"], kernel=values["kernel"]))
        return float(cross_val_score(model, data[rows], labels[rows], cv=3).mean())
