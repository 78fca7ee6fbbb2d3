"""What came out: report, figures, page, progress, timing."""
