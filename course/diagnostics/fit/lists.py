"""On a rank: let DTensor work out the sharding of a list of tensors once for each form in it.

An optimizer's list has all weights: hundreds of tensors of only a few forms. Torch looks at each
one, which took a third of a rehearsal. An operation on lists treats each position by itself, so
positions with tensors of the same forms are sharded alike.
"""

from dataclasses import replace
from functools import wraps
from typing import Any

from course.core import insides, interceptor
from course.diagnostics.fit.torch_insides import SHARDING

ON_LISTS = ("aten::_foreach_", "aten::_fused_")


def look_once_at_each_form() -> None:
    """From now on, let DTensor look at one position of each form.

    The method that this replaces is private; torch 2.13 has it.
    """
    home, name = getattr(SHARDING, "ShardingPropagator", None), "propagate_op_sharding_non_cached"
    insides.replace_if_there(home, name, _of_short_lists(getattr(home, name, None)))


def _of_short_lists(propagate: Any) -> interceptor.Function:
    @wraps(propagate)
    def propagated(self: Any, schema: Any) -> Any:
        lists = [argument for argument in schema.args_schema if _is_list(argument)]
        if not _is_elementwise(schema, lists):
            return propagate(self, schema)
        positions = zip(*lists, strict=True)
        forms = [tuple((type(value), value) for value in position) for position in positions]
        first = {form: position for position, form in reversed(list(enumerate(forms)))}
        short = tuple(
            [argument[position] for position in first.values()] if _is_list(argument) else argument
            for argument in schema.args_schema
        )
        sharding = propagate(self, replace(schema, args_schema=short))
        if sharding.needs_redistribute:
            return propagate(self, schema)
        if sharding.output_spec is None:
            return sharding
        specs = dict(zip(first, sharding.output_spec, strict=True))
        return replace(sharding, output_spec=tuple(specs[form] for form in forms))

    return propagated


def _is_list(argument: Any) -> bool:
    return isinstance(argument, (list, tuple)) and bool(argument)


def _is_elementwise(schema: Any, lists: list[Any]) -> bool:
    """Whether an operation takes lists of equal length, and treats each position by itself."""
    return (
        schema.op.name().startswith(ON_LISTS)
        and _is_list(schema.args_schema[0])
        and len(set(map(len, lists))) == 1
    )
