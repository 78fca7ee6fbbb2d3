"""Campaigns of robust Bayesian optimisation on Ray, with a journal that loses nothing, and a searcher for Ray Tune.

Importing this package is cheap: torch, Ray and MLflow are imported by whoever first needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.campaign.campaign import Campaign as Campaign
    from orchestrator.campaign.study import Study as Study
    from orchestrator.engine.events import Observation as Observation
    from orchestrator.search.searcher import RCGPSearch as RCGPSearch
    from orchestrator.session import resume as resume
    from orchestrator.session import run as run

_HOMES = {
    "Campaign": "campaign.campaign",
    "Observation": "engine.events",
    "RCGPSearch": "search.searcher",
    "Study": "campaign.study",
    "resume": "session",
    "run": "session",
}
__all__ = ["Campaign", "Observation", "RCGPSearch", "Study", "resume", "run"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'orchestrator' has no attribute {name!r}; it offers {', '.join(__all__)}.")
    return getattr(import_module(f"orchestrator.{_HOMES[name]}"), name)
