"""Decides which of the people who wait at a stage become a group. Pure.

People are matched by a value of their answers or of the variables that were assigned to them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from uuid import UUID

from parley_lab.base import variables
from parley_lab.base.rules import Comparison, comparisons, holds, with_given
from parley_lab.contracts.experiment import MatchValue, StageConfig
from parley_lab.kinds import Json
from parley_lab.kinds.stages import parts_of


@dataclass(frozen=True, slots=True)
class Waiting:
    """A person who has come to the stage where groups are made."""

    id: UUID
    is_there: bool
    """Whether they were seen just now; a person who is away is passed over and keeps their place in the row."""
    time_is_up: bool = False
    """Whether they have waited as long as they may."""
    value: str = ""
    """What they are matched by; empty: they have none."""
    met: frozenset[UUID] = frozenset()
    """With whom they may not be, because they were in a group before; both say so of each other."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One composition of groups.

    `places`: how many people have each value, the fewest and the most; `has_had`: how many people its groups have had.
    """

    places: Mapping[str, tuple[int, int]]
    id: str = ""
    has_had: int = 0
    people: int | None = None
    """How many people a group of it has at most, where that is fewer than others have."""

    @property
    def fewest(self) -> int:
        return sum(least for least, _ in self.places.values())


@dataclass(frozen=True, slots=True)
class Rule:
    """`people`: how many people a group has at most; without a composition it begins with no fewer while there is time.
    `fewest`: with how many it begins once the time of one of them is up. `then`: what happens at that time."""

    people: int
    fewest: int = 1
    then: Literal["release", "go_on", "fill"] = "release"
    values: Literal["any", "same", "different", "composed"] = "any"
    kinds: tuple[Kind, ...] = ()
    """The compositions, with `composed`; the first that can be made is."""
    is_balanced: bool = False
    """Whether the composition comes first whose groups have had the fewest people."""

    @property
    def least(self) -> int:
        """With how many people a group begins while there is time."""
        if self.values != "composed":
            return self.people
        return min(max(one.fewest, self.fewest) for one in self.kinds)


@dataclass(frozen=True, slots=True)
class Decision:
    """The next thing to do in a room: to make a group of `group`, in the order of its seats, or to release people."""

    group: tuple[UUID, ...] = ()
    released: tuple[UUID, ...] = ()
    kind: str = ""
    """The composition of the group."""


@dataclass(frozen=True, slots=True)
class Growing:
    """A group that people may still join: of which composition, and how many more."""

    id: UUID
    kind: str
    free: int


def to_join(growing: Sequence[Growing], kind: str, people: int) -> Sequence[Growing]:
    """The groups that so many people of this composition may join together, in the given order."""
    return [one for one in growing if one.kind == kind and one.free >= people]


def joining_only(rule: Rule, growing: Sequence[Growing]) -> Rule:
    """The rule where no more groups are made: people may join one that grows."""
    free: dict[str, int] = {}
    for one in growing:
        free[one.kind] = max(one.free, free.get(one.kind, 0))
    if rule.values != "composed":
        return replace(rule, people=min(rule.people, free.get("", 0)))
    kinds = (replace(one, people=free.get(one.id, 0)) for one in rule.kinds)
    kinds = (one for one in kinds if one.people and one.people >= one.fewest)
    return replace(rule, kinds=tuple(kinds))


def stages_of(by: MatchValue | None) -> set[str]:
    """The stages whose pages decide about a person's value."""
    if by is None:
        return set()
    named = [one.stage for rule in by.rules.values() for _, one in comparisons(rule)]
    return {one for one in (by.stage, *named) if one is not None}


def value_of(
    by: MatchValue | None, stage: StageConfig | None, pages: Mapping[str, Json], assigned: Mapping[str, Json]
) -> str:
    """The value by which a person is matched, as a text; empty when they have no such answer.

    stage: the one that `by` names. pages: the person's, by stage.
    """
    if by is None:
        return ""

    def of_variable(one: Comparison) -> Json:
        return variables.value_of(one.name, assigned) if one.subject == "variable" else None

    if by.rules:
        return next((name for name, rule in by.rules.items() if holds(with_given(rule, of_variable), pages, "")), "")
    if by.variable is not None:
        return variables.as_text(variables.value_of(by.variable, assigned))
    if stage is None:
        return ""
    return variables.as_text(parts_of(stage).data.cells(pages.get(stage.id)).get(by.question or ""))


_NO_GROUP: Final = Decision()
MOST_STEPS: Final = 20_000
"""How often the searches of one look at the row go back: where many have met, there are too many ways to try all."""


def decide(row: Sequence[Waiting], rule: Rule) -> Decision | None:
    """What to do now with those who wait, in the order in which they came; None: nothing.

    A group is made of the first who are there and fit together, as soon as they are enough. A person whose value has a
    place in no composition is released: they would wait in vain.
    """
    misfits = tuple(one.id for one in row if not _has_a_place(one, rule))
    if misfits:
        return Decision(released=misfits)
    there = [one for one in row if one.is_there]
    found = _group(there, rule, _compositions(there, rule), rule.people if rule.values != "composed" else rule.fewest)
    if found is not _NO_GROUP:
        return found
    late = [one for one in row if one.time_is_up]
    if rule.then != "release":
        compositions = [_loosened(one, rule) for one in _compositions(there, rule)]
        for first in (one for one in late if one.is_there):
            found = _group(there, rule, compositions, rule.fewest, first=first, steps=MOST_STEPS // len(late))
            if found is not _NO_GROUP:
                return found
    return Decision(released=tuple(one.id for one in late)) if late else None


def _has_a_place(one: Waiting, rule: Rule) -> bool:
    return rule.values != "composed" or any(one.value in kind.places for kind in rule.kinds)


def _compositions(there: Sequence[Waiting], rule: Rule) -> Sequence[Kind]:
    """The compositions that a group may have, the one that is tried first first."""
    values = list(dict.fromkeys(one.value for one in there))
    match rule.values:
        case "any":
            return [Kind(dict.fromkeys(values, (0, rule.people)))]
        case "different":
            return [Kind(dict.fromkeys(values, (0, 1)))]
        case "same":
            return [Kind({value: (0, rule.people)}) for value in values]
        case "composed":
            return sorted(rule.kinds, key=lambda one: one.has_had) if rule.is_balanced else rule.kinds


def _loosened(kind: Kind, rule: Rule) -> Kind:
    """The composition of a group whose empty seats agents take: no value needs a person."""
    if rule.then != "fill":
        return kind
    return replace(kind, places={value: (0, most) for value, (_, most) in kind.places.items()})


def _group(
    there: Sequence[Waiting],
    rule: Rule,
    compositions: Sequence[Kind],
    fewest: int,
    *,
    first: Waiting | None = None,
    steps: int = MOST_STEPS,
) -> Decision:
    """The first group that is found of those who are there, with `first` in it. The compositions share the steps."""
    for kind in compositions:
        most = rule.people if kind.people is None else min(kind.people, rule.people)
        chosen = _Group(kind, most, fewest, steps // len(compositions)).fill(there, first)
        if chosen:
            return Decision(group=tuple(one.id for one in there if one in chosen), kind=kind.id)
    return _NO_GROUP


@dataclass(slots=True)
class _Group:
    """A group while people are chosen for it."""

    kind: Kind
    most: int
    fewest: int
    steps: int
    """How often the search may still go back; then there is no group for now."""
    chosen: list[Waiting] = field(default_factory=list)
    has: Counter[str] = field(default_factory=Counter)

    def fill(self, there: Sequence[Waiting], first: Waiting | None) -> Sequence[Waiting]:
        """People for this group, those who came first; none where they are not enough."""
        if first is None:
            return self.chosen if self._fill(list(there)) else []
        if not self._takes(first):
            return []
        self._add(first)
        return self.chosen if self._fill([one for one in there if one != first and one.id not in first.met]) else []

    def _fill(self, rest: list[Waiting]) -> bool:
        """Add people of the rest, all of whom may be with those who are chosen, until they are enough and no more fit.

        Where all may be with each other, the first that fits is never wrong. Else the search goes back, and ends where
        the rest cannot be enough, or has gone back too often.
        """
        # The people behind each one that was added here; they are tried in the place of that one.
        behind: list[list[Waiting]] = []
        while True:
            if self._can_be_enough(rest):
                place = next((place for place, one in enumerate(rest) if self._takes(one)), None)
                if place is not None:
                    one, others = rest[place], rest[place + 1 :]
                    self._add(one)
                    behind.append(others)
                    rest = [other for other in others if other.id not in one.met]
                    continue
                if self._is_enough:
                    return True
            if not behind:
                return False
            self.has[self.chosen.pop().value] -= 1
            self.steps -= 1
            if self.steps <= 0:
                return False
            rest = behind.pop()

    def _add(self, one: Waiting) -> None:
        self.chosen.append(one)
        self.has[one.value] += 1

    def _can_be_enough(self, rest: Sequence[Waiting]) -> bool:
        """Whether as many are left as the group needs, leaving aside who may be with whom."""
        left = Counter(one.value for one in rest)
        places = self.kind.places.items()
        if any(left[value] + self.has[value] < least for value, (least, _) in places):
            return False
        free = sum(min(left[value], most - self.has[value]) for value, (_, most) in places)
        return len(self.chosen) + free >= max(1, self.fewest)

    def _takes(self, one: Waiting) -> bool:
        """Whether there is a seat for this person beside those that other values still need."""
        least, most = self.kind.places.get(one.value, (0, 0))
        needed = self._needed - (self.has[one.value] < least)
        return self.has[one.value] < most and len(self.chosen) + needed < self.most

    @property
    def _needed(self) -> int:
        """How many people the values still need."""
        return sum(max(0, least - self.has[value]) for value, (least, _) in self.kind.places.items())

    @property
    def _is_enough(self) -> bool:
        return self._needed == 0 and len(self.chosen) >= max(1, self.fewest)
