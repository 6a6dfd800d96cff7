"""Rivals with the same signature: each is accepted as ``algorithm=`` by :func:`fenceline.minimize`."""

from fenceline.baselines.admmbo import ADMMBO
from fenceline.baselines.constrained_ei import ConstrainedEI
from fenceline.baselines.joint_bo import JointBO
from fenceline.baselines.optuna_tpe import OptunaTPE
from fenceline.baselines.random_search import RandomSearch
from fenceline.baselines.smac import SMAC
from fenceline.baselines.ucst import UCST

__all__ = ["ADMMBO", "SMAC", "UCST", "ConstrainedEI", "JointBO", "OptunaTPE", "RandomSearch"]
