"""How a proposal becomes a measurement: the evaluator of a run, and the engines that work for it."""

from fenceline.evaluation.engines import Engine, Local, Outcome, Serial, open_engine
from fenceline.evaluation.limits import Limits

__all__ = ["Engine", "Limits", "Local", "Outcome", "Serial", "open_engine"]
