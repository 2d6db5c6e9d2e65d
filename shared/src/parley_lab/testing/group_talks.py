"""Group chats for tests: a world with members and topics, and what is asked, said and over in it."""

from typing import Any

from parley_lab import talk as conversation
from parley_lab.kinds import Member
from parley_lab.talk import Draft
from parley_lab.testing.thread_world import World, a_member, a_scene

ADA, BOB, CID = a_member("ada"), a_member("bob"), a_member("cid")
PIA, MED = a_member("pia", player="person"), a_member("med", kind="mediator")
TOPICS = ({"id": "cost", "name": "Who pays"}, {"id": "route", "name": "Where it goes"})


def a_world(*members: Member, **stage: Any) -> World:
    world = World(a_scene(*members, **stage))
    world.advance()
    return world


def asked(world: World) -> set[str]:
    return {world.scene.member(draft.member_id).name for draft in world.scene.drafts}


def the_draft(world: World, member: Member) -> Draft:
    return next(draft for draft in world.scene.drafts if draft.member_id == member.id and not draft.is_check)


def reply(world: World, member: Member, text: str | None = "Yes.", **fields: Any) -> Draft:
    draft = the_draft(world, member)
    world.save(draft, text=text, due_at=world.scene.now, **fields)
    world.advance()
    return draft


def holder(world: World) -> str | None:
    held = world.scene.turn.holder
    return None if held is None else world.scene.member(held).name


def end_reason(world: World) -> str | None:
    """Why the thread ends, once all that is due has been written."""
    while (change := conversation.next_change(world.scene)) is not None and change.end_reason is None:
        world.write(change)
    return None if change is None else change.end_reason


def texts(world: World) -> list[str]:
    return [message.text for message in world.messages]
