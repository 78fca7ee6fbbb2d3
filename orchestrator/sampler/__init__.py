"""RCGPSampler for people's own Optuna code."""
