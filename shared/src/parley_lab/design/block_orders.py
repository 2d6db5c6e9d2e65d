"""Checks blocks whose stages each participant has in an order of their own."""

from collections.abc import Iterator, Mapping, Sequence

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import one_of
from parley_lab.contracts.assigned import Permutation
from parley_lab.contracts.experiment import StageConfig, Treatment
from parley_lab.design import sequences
from parley_lab.design.own_arms import why_shared


def problems(
    assigned: Mapping[int, Permutation], stages: Mapping[int, StageConfig], treatments: Sequence[Treatment]
) -> Iterator[Problem]:
    """assigned: the permutations by position. stages: those that are valid in themselves, by position."""
    in_order = [stages[place] for place in sorted(stages)]
    blocks = list(dict.fromkeys(one.block for one in in_order if one.block is not None))
    taken: set[str] = set()
    for index, one in assigned.items():
        if one.block is None:
            continue
        where = f"assigned[{index}]"
        if one.block not in blocks:
            nothing = "`block` on the stages that it orders"
            yield Problem(f"{where}.block", repr(one.block), one_of(one.block, blocks, "block") if blocks else nothing)
            continue
        mine = {place: stage for place, stage in sorted(stages.items()) if stage.block == one.block}
        ids = [stage.id for stage in mine.values()]
        if one.block in taken:
            yield Problem(f"{where}.block", f"{one.block!r} again", "one order for each block")
        taken.add(one.block)
        if sorted(map(str, one.values)) != sorted(ids) or one.taken != len(ids) or not one.split:
            found = ", ".join(map(str, one.values))
            yield Problem(f"{where}.values", found, f"each of {', '.join(ids)} once, and all of them taken")
        if any(one.block in arm.order for arm in treatments):
            yield Problem(f"{where}.block", f"{one.block!r}, which arms order", "an order by arm or by participant")
        if ids[0] == in_order[0].id:
            yield Problem(f"{where}.block", "a block that comes first", "a stage before it, such as a page to read")
        yield from _of_stages(mine, in_order)


def _of_stages(mine: Mapping[int, StageConfig], in_order: Sequence[StageConfig]) -> Iterator[Problem]:
    """Stages of a block that are the same for all members, or that need another one of the block before them."""
    ids = {stage.id for stage in mine.values()}
    first = next(place for place, one in enumerate(in_order) if one.id in ids)
    usual = {problem for _, problem in sequences.problems(in_order)}
    for place, stage in mine.items():
        if (why := why_shared(stage, in_order)) is not None:
            expected = "stages on which each is alone: members would wait for each other"
            yield Problem(f"stages[{place}].block", f"a stage {why}, in an order of each participant", expected)
        for at, problem in sequences.problems([*in_order[:first], stage]):
            if at == first and problem not in usual:
                expected = f"{problem.expected}; in the block {stage.block!r} this stage may come first"
                yield Problem(f"stages[{place}].{problem.where}", problem.found, expected)
