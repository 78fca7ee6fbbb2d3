"""Learning curves: where a trial that was stopped would have ended, and what its way there says of its last report."""
