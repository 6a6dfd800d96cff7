"""AutoML at equal wall time: sixteen tables, three budgets, every rival in one run."""
