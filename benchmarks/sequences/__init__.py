"""Orders of tests, replayed on real searches whose truth is nearly known."""
