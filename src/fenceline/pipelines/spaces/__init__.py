"""Spaces of scikit-learn pipelines: the named ones, and what their algorithms stand for."""
