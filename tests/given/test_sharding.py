"""Which parameters of a model travel together, and the messages about wrong layers."""

import ast
import inspect

import pytest
import torch
from support import solutions
from torch import nn

from course.core.errors import CourseError
from course.given import memory, sharding, units


def names(model: nn.Module, layers: list[nn.Module]) -> list[set[str]]:
    """The names of the parameters in each unit, the outer unit first."""
    name_of = {parameter: name for name, parameter in model.named_parameters()}
    return [{name_of[parameter] for parameter in part} for part in sharding.by_unit(model, layers)]


def model() -> nn.ModuleDict:
    return nn.ModuleDict({name: nn.Linear(2, 2, bias=False) for name in "abc"})


def test_each_layer_has_its_own_and_the_rest_comes_first():
    net = model()
    net["b"].requires_grad_(False)
    net["c"].bias = nn.Parameter(torch.zeros(2))
    assert names(net, [net["c"], net["b"]]) == [{"a.weight"}, {"c.weight", "c.bias"}, set()]


def test_what_two_layers_share_belongs_to_neither():
    net = model()
    net["c"].weight = net["a"].weight
    assert names(net, [net["a"], net["b"], net["c"]]) == [{"a.weight"}, set(), {"b.weight"}, set()]


def test_a_module_that_two_layers_share_belongs_to_neither():
    net = model()
    layers = [nn.Sequential(net["a"], net["b"]), nn.Sequential(net["a"], net["c"])]
    whole = nn.ModuleList(layers)
    assert names(whole, layers) == [{"0.0.weight"}, {"0.1.weight"}, {"1.1.weight"}]


@pytest.mark.parametrize(
    ("layers", "sentence"),
    [
        (lambda net: [net["a"], nn.Linear(2, 2)], r"layers\[1\] is not a module of the model"),
        (lambda net: [net["a"], net["a"]], "give each layer once"),
    ],
)
def test_wrong_layers_are_refused(layers, sentence):
    net = model()
    with pytest.raises(CourseError, match=sentence):
        sharding.by_unit(net, layers(net))


def test_a_layer_returns_one_tensor():
    output = torch.ones(2)
    assert sharding.one_tensor(0, output) is output
    with pytest.raises(CourseError, match=r"layers\[3\] returned a tuple"):
        sharding.one_tensor(3, (output,))


def test_the_given_unit_is_that_of_the_solved_lab_and_takes_a_group():
    solved, source = solutions.scripts("10_sharding")["flat_unit.py"], inspect.getsource(units)
    assert methods_of_unit(source) == methods_of_unit(solved)


class WithoutGroup(ast.NodeTransformer):
    """Removes the arguments `group` and `self.group`, and assignments of either."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.args = [argument for argument in node.args if not is_group(argument)]
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "group"]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        return None if is_group(node.value) else self.generic_visit(node)


def is_group(node: ast.expr) -> bool:
    return ast.unparse(node) in ("group", "self.group")


def methods_of_unit(text: str) -> dict[str, list[str]]:
    """The statements of each method of the class Unit, without docstrings."""
    tree = WithoutGroup().visit(ast.parse(text))
    (unit,) = (n for n in tree.body if getattr(n, "name", "") == "Unit")
    methods = [node for node in unit.body if isinstance(node, ast.FunctionDef)]
    return {
        method.name: [ast.unparse(n) for n in method.body if ast.unparse(n)[0] not in "'\""]
        for method in methods
    }


def test_memory_counts_what_is_shared_once():
    whole = torch.zeros(8)
    assert memory.held([whole, whole[:2], torch.zeros(3)]) == 4 * (8 + 3)
