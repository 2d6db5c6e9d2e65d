"""Rooms in which a person types while agents think; for tests of what comes of it."""

from typing import Any

from parley_lab import talk as conversation
from parley_lab.kinds import Member
from parley_lab.talk import Draft
from parley_lab.testing.thread_world import World, a_member, a_scene

ADA, BOB, CID, DEE = a_member("ada"), a_member("bob"), a_member("cid"), a_member("dee")
PIA, MED = a_member("pia", player="person"), a_member("med", kind="mediator")


def a_room(*members: Member, quiet_seconds: float = 0, **stage: Any) -> World:
    """A room in which everybody who was asked to open it stayed silent."""
    world = World(a_scene(*members, **{"quiet_seconds": quiet_seconds, "ready_check_every": 99, **stage}))
    world.advance()
    decline_all(world)
    return world


def decline_all(world: World) -> None:
    while world.scene.drafts:
        reply(world, world.scene.member(world.scene.drafts[0].member_id), None)


def post(world: World, text: str = "And this?") -> None:
    """A person says something, and workers begin at once with what is wanted."""
    world.write(conversation.say(world.scene, PIA, text))
    world.advance()
    world.begin_all()


def draft_of(world: World, member: Member) -> Draft:
    return next(draft for draft in world.scene.drafts if draft.member_id == member.id and not draft.is_check)


def reply(world: World, member: Member, text: str | None = "Yes.", **fields: Any) -> Draft:
    draft = draft_of(world, member)
    world.save(draft, text=text, due_at=world.scene.now, finish_ms=world.scene.clock_ms + 10, **fields)
    world.advance()
    world.begin_all()
    return draft


def asked(world: World) -> list[str]:
    return sorted(world.scene.member(draft.member_id).name for draft in world.scene.drafts if not draft.is_check)


def texts(world: World) -> list[str]:
    return [message.text for message in world.messages]
