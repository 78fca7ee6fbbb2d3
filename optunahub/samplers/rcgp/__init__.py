"""RCGPSampler as a package of OptunaHub: the sampler itself is installed with `rcgp-orchestrator`."""

from orchestrator import RCGPSampler

__all__ = ["RCGPSampler"]
