"""Rivals with the same signature: each is accepted as ``algorithm=`` by :func:`fenceline.minimize`."""

from fenceline.baselines.joint_bo import JointBO
from fenceline.baselines.random_search import RandomSearch

__all__ = ["JointBO", "RandomSearch"]
