"""The demonstration: ``fenceline demo``."""
