"""Who may lie, how often and how. NumPy only."""

from adversaries.adversary import Adversary, AdversaryError, Policy, Query, Report
from adversaries.registry import ADVERSARIES, make_adversary

__all__ = ["ADVERSARIES", "Adversary", "AdversaryError", "Policy", "Query", "Report", "make_adversary"]
