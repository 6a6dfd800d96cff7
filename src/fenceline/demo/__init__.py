"""The demonstration behind ``fenceline demo``: choose scaler and model for the bundled credit data."""
