"""How a configuration becomes a fitted scikit-learn pipeline."""
