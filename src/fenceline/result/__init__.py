"""What a search found: the result, its diagnosis, and how far it keeps from each bound."""

from fenceline.result.result import Result

__all__ = ["Result"]
