"""Robust Bayesian optimisation with unbounded corruptions: RCGP-UCB, its baselines, and a BoTorch model of the RCGP."""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

from rcgp.evidence import Ruling
from rcgp.weights import SUSPECT_WEIGHT, PlateauIMQ

if TYPE_CHECKING:
    from rcgp.algorithms import ALGORITHMS, make_optimizer
    from rcgp.answer import Recommendation
    from rcgp.model import RobustGP
    from rcgp.optimizer import Optimizer
    from rcgp.views import Posterior, Suspect

__all__ = [
    "ALGORITHMS",
    "SUSPECT_WEIGHT",
    "Optimizer",
    "PlateauIMQ",
    "Posterior",
    "Recommendation",
    "RobustGP",
    "Ruling",
    "Suspect",
    "make_optimizer",
]


LAZY = {
    "ALGORITHMS": "rcgp.algorithms",
    "make_optimizer": "rcgp.algorithms",
    "Optimizer": "rcgp.optimizer",
    "Posterior": "rcgp.views",
    "Recommendation": "rcgp.answer",
    "Suspect": "rcgp.views",
    "RobustGP": "rcgp.model",
}
"""Names whose modules load SciPy or, in seconds, BoTorch: only for whoever uses them."""


def __getattr__(name: str) -> object:
    """Import what is asked for, once."""
    if name not in LAZY:
        raise AttributeError(f"module 'rcgp' has no attribute {name!r}")
    with warnings.catch_warnings():  # from inside BoTorch's imports; a user can do nothing about it
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", FutureWarning)
        try:
            module = import_module(LAZY[name])
        except ModuleNotFoundError as error:
            if name != "RobustGP":
                raise
            remedy = 'pip install "rcgp-orchestrator[botorch]"'
            raise ImportError(
                f"RobustGP needs the extra `botorch`: {remedy} ({error.name} is not installed)."
            ) from error
    globals()[name] = getattr(module, name)
    return globals()[name]
