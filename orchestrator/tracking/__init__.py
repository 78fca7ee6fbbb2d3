"""MLflow: what is written, by whom, and the server that shows it."""
