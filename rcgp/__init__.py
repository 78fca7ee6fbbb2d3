"""Robust Bayesian optimisation with unbounded corruptions: RCGP-UCB, its baselines, and a BoTorch model of the RCGP."""

from typing import TYPE_CHECKING, Any

from rcgp.optimizer import ALGORITHMS, Optimizer, Posterior, Suspect, make_optimizer
from rcgp.weights import PlateauIMQ

if TYPE_CHECKING:
    from rcgp.model import RobustGP

__all__ = ["ALGORITHMS", "Optimizer", "PlateauIMQ", "Posterior", "RobustGP", "Suspect", "make_optimizer"]


def __getattr__(name: str) -> Any:
    """Import BoTorch only for whoever uses the BoTorch model: it takes seconds."""
    if name == "RobustGP":
        from rcgp.model import RobustGP

        return RobustGP
    raise AttributeError(f"module 'rcgp' has no attribute {name!r}")
