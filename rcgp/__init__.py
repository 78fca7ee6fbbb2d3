"""Robust Bayesian optimisation with unbounded corruptions: RCGP-UCB, its baselines, and a BoTorch model of the RCGP."""

from rcgp.optimizer import ALGORITHMS, Optimizer, Posterior, Suspect, make_optimizer
from rcgp.weights import PlateauIMQ

__all__ = ["ALGORITHMS", "Optimizer", "PlateauIMQ", "Posterior", "Suspect", "make_optimizer"]
