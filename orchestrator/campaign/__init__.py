"""What is to be run, as frozen data: studies, campaigns, the shipped ones, run folders."""
