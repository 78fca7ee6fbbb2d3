"""RCGPSearch for people's own Tune code. Knows rcgp and Ray Tune only."""
