"""The default search: Bayesian optimisation on one surrogate that follows the structure of pipelines."""
