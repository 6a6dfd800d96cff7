"""The steps of a pipeline in the order in which data reach them: single, side by side, or voting.

An ordinary configuration is a chain of its choices. One with a shape (:mod:`fenceline.problem.template`)
says itself how they are joined: a union becomes a FeatureUnion, a vote a VotingClassifier or -Regressor.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.pipeline import FeatureUnion, Pipeline

from fenceline.pipelines.spaces.operators import Setting, make
from fenceline.problem.configuration import Choice
from fenceline.problem.template import Joined, chained, flow, shape_of

Step: TypeAlias = Any
"""A :class:`Choice`, or a :class:`Joined` of pairs of a slot and a choice, or of such again."""


def arranged(choices: Mapping[str, Choice]) -> dict[str, Step]:
    """Return the steps by name, in order; a joined step bears the name of its first slot."""
    if shape_of(choices) is None:
        return dict(choices)
    return {
        _name(part): part if isinstance(part, Joined) else part[1]
        for part in chained(flow(choices))
    }


def predictor(choices: Mapping[str, Choice]) -> Step:
    """Return the last step, which predicts."""
    steps = arranged(choices)
    return steps[next(reversed(steps))]


def make_step(step: Step, setting: Setting) -> Any:
    """Return the unfitted estimator of a step, or ``"passthrough"``."""
    if not isinstance(step, Joined):
        return make(step.algorithm, step.params, setting)
    setting = replace(setting, held_out=False)  # of several models each would need rows of its own
    if step.join == "chain":
        made = []
        for part in step.parts:
            made.append((_name(part), make_step(_bare(part), setting)))
            components = getattr(made[-1][1], "n_components", None)
            if isinstance(components, int):
                setting = replace(setting, columns=components)
        return Pipeline(made)
    branches = [(_name(part), make_step(_bare(part), setting)) for part in step.parts]
    if step.join == "union":
        return FeatureUnion(branches)
    if setting.task == "regression":
        return VotingRegressor(branches)
    likely = all(hasattr(model, "predict_proba") for _, model in branches)
    return VotingClassifier(branches, voting="soft" if likely else "hard")


def algorithms(step: Step) -> Iterator[str]:
    """Yield the names of the algorithms of a step."""
    if isinstance(step, Joined):
        for part in step.parts:
            yield from algorithms(_bare(part))
    else:
        yield step.algorithm


def text(step: Step) -> str:
    """Return the same text for the same step, and for no other."""
    if isinstance(step, Joined):
        return f"{step.join}{[(_name(part), text(_bare(part))) for part in step.parts]}"
    return repr((step.algorithm, sorted(step.params.items())))


def _bare(part: Any) -> Step:
    return part if isinstance(part, Joined) else part[1]


def _name(part: Any) -> str:
    return _name(part.parts[0]) if isinstance(part, Joined) else str(part[0])
