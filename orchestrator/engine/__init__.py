"""How a campaign runs: journal, trial evaluation, the engines, actors, the cluster."""
