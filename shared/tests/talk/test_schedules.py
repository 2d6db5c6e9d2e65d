"""Conversations under a scheduler that does as it likes: workers that are slow, die, or are told everything twice."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import get_args
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley_lab import talk as conversation
from parley_lab.kinds import Member
from parley_lab.kinds.stages.group_chat.config import GroupChatStage
from parley_lab.talk import Draft
from parley_lab.testing.thread_world import World, a_member, a_scene

MODES = get_args(GroupChatStage.model_fields["turn_taking"].annotation)
LEASE_SECONDS = 5.0
STEPS = 60
ENOUGH = 3000

AGENTS = (
    a_member("ada"),
    a_member("bob", words_per_minute=60),
    a_member("cid", initial_message="Good morning."),
    a_member("dan", max_responses=2),
    a_member("eve", can_self_trigger=True),
    a_member("fay", min_messages_before_responding=2),
    a_member("mia", kind="mediator"),
    a_member("noa", kind="mediator", max_responses=3),
)
PEOPLE = (a_member("pia", player="person"), a_member("quy", player="person"))


@dataclass
class Call:
    """A worker at work on a draft, until `ends_at`; `is_dead` when its process has died."""

    draft_id: UUID
    ends_at: datetime
    lease_until: datetime
    is_dead: bool = False


@dataclass
class Workers:
    """What agent-workers do with drafts, told in whatever order and however often: a lease, a call, a reply."""

    world: World
    rng: Random
    calls: list[Call] = field(default_factory=list)
    ever_wanted: dict[UUID, Draft] = field(default_factory=dict)

    def note(self) -> None:
        self.ever_wanted |= {draft.id: draft for draft in self.world.scene.drafts}

    def deliver(self, draft_id: UUID) -> None:
        """A hint for a draft: the worker that gets the lease calls the model, the others do nothing."""
        draft = next((one for one in self.world.scene.drafts if one.id == draft_id), None)
        if draft is None or draft.state == "ready" or self._is_leased(draft):
            return
        now = self.world.scene.now
        latency = timedelta(seconds=self.rng.choice((0.0, 0.2, 0.2, 1.0, 1.0, 2 * LEASE_SECONDS)))
        self.calls = [call for call in self.calls if call.draft_id != draft_id or call.is_dead or call.ends_at > now]
        self.calls.append(Call(draft_id, now + latency, now + timedelta(seconds=LEASE_SECONDS)))
        self._put(replace(draft, state="thinking"))

    def _is_leased(self, draft: Draft) -> bool:
        now = self.world.scene.now
        return any(call.draft_id == draft.id and call.lease_until > now for call in self.calls)

    def die(self) -> None:
        """A worker dies in the middle of a call, which no process notices before its lease has expired."""
        alive = [call for call in self.calls if not call.is_dead]
        if alive:
            self.rng.choice(alive).is_dead = True

    def return_what_is_done(self) -> None:
        """Replies come back in any order; of those whose lease is lost nothing is heard."""
        now = self.world.scene.now
        done = [call for call in self.calls if not call.is_dead and call.ends_at <= now]
        self.rng.shuffle(done)
        for call in done:
            newest = [one for one in self.calls if one.draft_id == call.draft_id][-1]
            self.calls.remove(call)
            draft = next((one for one in self.world.scene.drafts if one.id == call.draft_id), None)
            if newest is call and draft is not None and draft.state == "thinking":
                self._reply(draft)

    def _reply(self, draft: Draft) -> None:
        scene = self.world.scene
        self.world.save(
            draft,
            text=self.rng.choice(("I agree.", "Not so fast, Ada.", None)),
            ready_to_end=self.rng.random() < 0.15,
            due_at=scene.now + timedelta(seconds=self.rng.choice((0, 0, 1, 3))),
            finish_ms=scene.clock_ms + self.rng.randrange(9000),
        )
        if self.rng.random() < 0.7:
            # Otherwise this worker dies between saving and publishing, and another one finds the reply later.
            self.world.advance()

    def _put(self, draft: Draft) -> None:
        others = tuple(one for one in self.world.scene.drafts if one.id != draft.id)
        self.world.scene = replace(self.world.scene, drafts=(*others, draft))


class Story:
    """One conversation from its opening to its end."""

    def __init__(self, world: World, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self.workers = Workers(world, rng)

    def step(self) -> None:
        """Something happens; the rules are looked up afterwards, or not yet."""
        self.workers.note()
        happening = self.rng.choices(
            (self._deliver, self._wait, self.workers.die, self._post, self._leave, self.world.advance),
            (10, 6, 1, 1, 0.1, 3),
        )[0]
        happening()
        self.workers.return_what_is_done()
        self.workers.note()

    def _deliver(self) -> None:
        """Hints come for what is open, twice for some, and for what was over long ago."""
        hints = [draft.id for draft in self.world.scene.drafts] * 2 + [*self.workers.ever_wanted]
        for draft_id in self.rng.sample(hints, k=self.rng.randint(0, len(hints))):
            self.workers.deliver(draft_id)

    def _wait(self) -> None:
        self.world.scene = self.world.scene_at(self.rng.choice((0.1, 1.0, LEASE_SECONDS)))

    def _post(self) -> None:
        here = [one for one in self.world.scene.members if one.player == "person" and one.present]
        speakers = [one for one in here if self.world.may_speak(one)]
        if speakers:
            self.world.write(conversation.say(self.world.scene, self.rng.choice(speakers), "What about Bob?"))

    def _leave(self) -> None:
        member = self.rng.choice(self.world.scene.members)
        self.world.set_present(member, False)
        self.world.write_if(conversation.say_goodbye(self.world.scene, member))

    def to_its_end(self) -> None:
        """The time is up; then everything that is still wanted is delivered, and no worker dies any more."""
        self.world.advance()
        if not self.world.scene.ended:
            self.world.write(conversation.end(self.world.scene, conversation.TIME_IS_UP))
        for _ in range(ENOUGH):
            self.world.advance()
            self.workers.note()
            if not self.world.scene.drafts:
                return
            for draft in self.world.scene.drafts:
                self.workers.deliver(draft.id)
            self.world.scene = self.world.scene_at(1.0)
            self.workers.return_what_is_done()
        raise AssertionError("a draft is never closed")


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=300, deadline=None)
@given(
    agents=st.lists(st.sampled_from(AGENTS), min_size=1, unique_by=lambda member: member.path),
    people=st.lists(st.sampled_from(PEOPLE), unique_by=lambda member: member.path),
    pace=st.sampled_from(["live", "fast"]),
    seed=st.integers(0, 2**32),
)
def test_one_reply_per_trigger_numbers_without_gaps_and_silence_after_the_end_whatever_the_workers_do(
    mode: str, agents: list[Member], people: list[Member], pace: str, seed: int
) -> None:
    members = tuple(sorted(agents + people, key=lambda member: member.path))
    world = World(a_scene(*members, pace=pace, turn_taking=mode, max_agent_run=6))
    story = Story(world, Random(seed))
    world.advance()

    for _ in range(STEPS):
        story.step()
    story.to_its_end()
    said = len(world.messages)
    for _ in range(STEPS):
        story.step()

    assert len(world.messages) == said, "nothing is said after the end"
    assert [message.seq for message in world.messages] == list(range(1, said + 1))
    answered = [message.trigger_key for message in world.messages if message.trigger_key is not None]
    assert len(answered) == len(set(answered)), "at most one reply for each trigger"
    assert [draft_id for draft_id in story.workers.ever_wanted if draft_id not in world.outcomes] == []
