"""Hostile hands: episodes drawn from seeds, and the promises they are held to."""
