"""Decisions inside a fence, judged on rows that nobody has seen."""
