"""Whether a cluster file is fit for its campaigns and for the machine that launches it."""

from orchestrator.launch.cluster_file import check as check
