"""Campaigns of robust Bayesian optimisation on Ray, with a journal that loses nothing, and a searcher for Ray Tune.

Importing this package is cheap: torch, Ray and MLflow are imported by whoever first needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.campaign import Campaign as Campaign
    from orchestrator.runner import resume as resume
    from orchestrator.runner import run as run
    from orchestrator.searcher import RCGPSearch as RCGPSearch
    from orchestrator.study import Observation as Observation
    from orchestrator.study import Study as Study

_HOMES = {
    "Campaign": "campaign",
    "Observation": "study",
    "RCGPSearch": "searcher",
    "Study": "study",
    "resume": "runner",
    "run": "runner",
}
__all__ = ["Campaign", "Observation", "RCGPSearch", "Study", "resume", "run"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'orchestrator' has no attribute {name!r}; it offers {', '.join(__all__)}.")
    return getattr(import_module(f"orchestrator.{_HOMES[name]}"), name)
