"""The report of a search: one HTML file that needs nothing else, not even a network."""

from fenceline.report.write import write_report

__all__ = ["write_report"]
