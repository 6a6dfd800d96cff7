"""The seed paper: ADMM over the choice of algorithms and their hyper-parameters."""
