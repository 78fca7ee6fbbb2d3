"""Robust Bayesian optimisation with unbounded corruptions: RCGP-UCB, its baselines, and a BoTorch model of the RCGP."""

import warnings
from typing import TYPE_CHECKING, Any

from rcgp.algorithms import ALGORITHMS, make_optimizer
from rcgp.optimizer import Optimizer, Posterior, Suspect
from rcgp.weights import SUSPECT_WEIGHT, PlateauIMQ

if TYPE_CHECKING:
    from rcgp.model import RobustGP

__all__ = [
    "ALGORITHMS",
    "SUSPECT_WEIGHT",
    "Optimizer",
    "PlateauIMQ",
    "Posterior",
    "RobustGP",
    "Suspect",
    "make_optimizer",
]


def __getattr__(name: str) -> Any:
    """Import BoTorch only for whoever uses the BoTorch model: it takes seconds."""
    if name == "RobustGP":
        with warnings.catch_warnings():  # from inside BoTorch's imports; a user can do nothing about it
            warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", FutureWarning)
            from rcgp.model import RobustGP

        return RobustGP
    raise AttributeError(f"module 'rcgp' has no attribute {name!r}")
