"""Campaigns of robust Bayesian optimisation on Ray, with a journal that loses nothing; a searcher for Tune, a sampler for Optuna.

Importing this package is cheap: torch, Ray, MLflow and Optuna are imported by whoever first needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from orchestrator.extras import needing

if TYPE_CHECKING:
    from orchestrator.campaign.campaign import Campaign as Campaign
    from orchestrator.campaign.study import Study as Study
    from orchestrator.engine.events import Observation as Observation
    from orchestrator.sampler.sampler import RCGPSampler as RCGPSampler
    from orchestrator.search.scheduler import RobustASHAScheduler as RobustASHAScheduler
    from orchestrator.search.searcher import RCGPSearch as RCGPSearch
    from orchestrator.session import resume as resume
    from orchestrator.session import run as run
    from orchestrator.tracking.callback import RCGPMLflowCallback as RCGPMLflowCallback

_HOMES = {
    "Campaign": "campaign.campaign",
    "Observation": "engine.events",
    "RCGPMLflowCallback": "tracking.callback",
    "RCGPSampler": "sampler.sampler",
    "RCGPSearch": "search.searcher",
    "RobustASHAScheduler": "search.scheduler",
    "Study": "campaign.study",
    "resume": "session",
    "run": "session",
}
_EXTRAS = {"RCGPMLflowCallback": "mlflow", "RCGPSampler": "optuna"}
"""What each needs beyond the searcher; all others are of `campaigns`."""
__all__ = [
    "Campaign",
    "Observation",
    "RCGPMLflowCallback",
    "RCGPSampler",
    "RCGPSearch",
    "RobustASHAScheduler",
    "Study",
    "resume",
    "run",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'orchestrator' has no attribute {name!r}; it offers {', '.join(__all__)}.")
    with needing(f"orchestrator.{name}", _EXTRAS.get(name, "campaigns")):
        return getattr(import_module(f"orchestrator.{_HOMES[name]}"), name)
