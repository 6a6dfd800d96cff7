"""An ONNX graph that grows node by node; every number in it is a double."""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError, MissingDependencyError

OPSET, TREES_OPSET, IR_VERSION = 18, 5, 10
"""What the nodes need, and the oldest file format that has both: runtimes from 2024 on read it."""
TREES = "ai.onnx.ml"


def require(package: str) -> Any:
    """Import a package of the extra, or say how to get it."""
    try:
        return import_module(package)
    except ImportError as missing:
        raise MissingDependencyError(
            f"ONNX files need the package {package.partition('.')[0]}. Install it with: "
            "pip install 'fenceline[onnx]'"
        ) from missing


def unconvertible(step: Any, reason: str = "") -> DefinitionError:
    """Return the error that names a step which has no equal in ONNX."""
    name = type(step).__name__
    return DefinitionError(
        f"{name} cannot be converted to ONNX{f': {reason}' if reason else ''}. Leave it out of the search with "
        "drop(space, MODULE, ALGORITHM) of fenceline.pipelines and fit again, or ship model.to_sklearn()."
    )


class Graph:
    """Collects nodes, constants and inputs. A value is the name of what a node computes."""

    def __init__(self) -> None:
        self._helper = require("onnx.helper")
        self._from_array = require("onnx.numpy_helper").from_array
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: dict[str, Any] = {}
        self._count = 0

    def new(self, stem: str) -> str:
        """Return a name that nothing has yet."""
        self._count += 1
        return f"{stem}_{self._count}"

    def input(self, name: str, dtype: Any, width: int) -> str:
        """Add a column, or a table, of the input; the same one may be asked for again."""
        if name not in self._inputs:
            kind = self._kind(dtype)
            self._inputs[name] = self._helper.make_tensor_value_info(name, kind, [None, width])
        return name

    def constant(self, values: Any) -> str:
        """Add numbers or texts that are part of the model."""
        array = np.asarray(values)
        name = self.new("constant")
        if array.dtype.kind in "UO":
            array = array.astype(object)
        self._constants.append(self._from_array(array, name))
        return name

    def add(self, operator: str, *values: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output, and return that."""
        name = self.new(operator.lower())
        for key, given in attributes.items():
            if isinstance(given, np.ndarray):
                attributes[key] = self._from_array(given, key)
        node = self._helper.make_node(
            operator, values, [name], name=name, domain=domain, **attributes
        )
        self._nodes.append(node)
        return name

    def numbers(self, operator: str, value: str, *constants: Any) -> str:
        """Add a node of a value and double constants."""
        doubles = (self.constant(np.asarray(c, dtype=np.float64)) for c in constants)
        return self.add(operator, value, *doubles)

    def include(self, model: Any, value: str, wanted: str) -> str:
        """Add another model's graph after a value, and return one of its outputs."""
        prefix = self.new("part") + "/"
        found = require("onnx.compose").add_prefix(model, prefix)
        self._constants.extend(found.graph.initializer)
        self.add_as("Identity", value, found.graph.input[0].name)
        self._nodes.extend(found.graph.node)
        return prefix + wanted

    def add_several(
        self, operator: str, values: list[str], names: list[str], **attributes: Any
    ) -> None:
        """Add a node whose outputs have given names."""
        self._nodes.append(self._helper.make_node(operator, values, names, **attributes))

    def add_as(self, operator: str, value: str, name: str) -> None:
        """Add a node whose output has a given name."""
        self._nodes.append(self._helper.make_node(operator, [value], [name]))

    def model(
        self, outputs: Mapping[str, tuple[Any, Sequence[Any]]], notes: Mapping[str, Any]
    ) -> Any:
        """Return the finished model, checked; notes are kept in the file."""
        made = self._helper.make_graph(
            self._nodes,
            "fenceline",
            list(self._inputs.values()),
            [
                self._helper.make_tensor_value_info(name, self._kind(dtype), shape)
                for name, (dtype, shape) in outputs.items()
            ],
            self._constants,
        )
        versions = [
            self._helper.make_opsetid("", OPSET),
            self._helper.make_opsetid(TREES, TREES_OPSET),
        ]
        model = self._helper.make_model(
            made, opset_imports=versions, ir_version=IR_VERSION, producer_name="fenceline"
        )
        self._helper.set_model_props(model, {key: json.dumps(text) for key, text in notes.items()})
        require("onnx.checker").check_model(model)
        return model

    def _kind(self, dtype: Any) -> int:
        if np.dtype(dtype).kind in "UO":
            return int(require("onnx").TensorProto.STRING)
        return int(self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def doubles(values: Any) -> NDArray[np.float64]:
    """Return an array of doubles."""
    return np.asarray(values, dtype=np.float64)
