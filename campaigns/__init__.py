"""Experiments as data: `orchestrate run NAME` finds the YAML files of this folder by name."""
