"""Tables about members beside their stages: checks, presence, players of seats.

A stand-in is the same member with another player (`sittings`), and a move changes the cohort of a member (`stays`).
A new member for either would need copies of answers, payments and rules.
"""

from sqlalchemy import ARRAY, Column, ForeignKey, Index, Integer, PrimaryKeyConstraint, Table, Text, Uuid, text

from parley_lab.store.tables.base import at, metadata, number, one_of

attention_checks = Table(
    "attention_checks",
    metadata,
    Column("member_id", ForeignKey("members.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("sent_by", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("missed_then", Text, nullable=False),
    Column("outcome", Text),
    at("opened_at", nullable=False),
    at("closed_at"),
    PrimaryKeyConstraint("member_id", "number"),
    one_of("missed_then", ("remove", "alert"), name="missed_then"),
    one_of("outcome", ("passed", "missed"), name="outcome"),
)

presence = Table(
    "presence",
    metadata,
    Column("member_id", ForeignKey("members.id"), primary_key=True),
    # By a live stream; null of a person who has had none.
    at("seen_at"),
    # By any other request, as long as the person is on the way to a group.
    at("asked_at"),
    at("gone_at"),
    # When the person was asked to confirm being there for a group, and when they did.
    at("called_at"),
    at("confirmed_at"),
    Index("ix_presence_there", "seen_at", postgresql_where=text("gone_at IS NULL")),
    Index("ix_presence_gone", "gone_at", postgresql_where=text("gone_at IS NOT NULL")),
)

gateways = Table(
    "gateways",
    metadata,
    Column("id", Uuid, primary_key=True),
    at("started_at", nullable=False),
    at("seen_at", nullable=False),
)

sittings = Table(
    "sittings",
    metadata,
    Column("member_id", ForeignKey("members.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("player", Text, nullable=False),
    Column("persona", Text),
    Column("token_hash", Text, unique=True),
    at("since", nullable=False),
    at("until"),
    PrimaryKeyConstraint("member_id", "number"),
    one_of("player", ("person", "agent"), name="player"),
)

notices = Table(
    "notices",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("member_id", ForeignKey("members.id"), nullable=False, index=True),
    Column("text", Text, nullable=False),
    Column("sent_by", Text, nullable=False),
    at("created_at", nullable=False),
    at("read_at"),
)

# With which lab staff read what a participant can read.
view_tokens = Table(
    "view_tokens",
    metadata,
    Column("token_hash", Text, primary_key=True),
    Column("member_id", ForeignKey("members.id"), nullable=False, index=True),
    Column("opened_by", Text, nullable=False),
    at("created_at", nullable=False),
    at("expires_at", nullable=False),
    at("used_at"),
    number("uses"),
)

# Who was in a cohort from when to when; a member without a row has been in one cohort only. What `stage_ids` and
# `position` say is where they were when they left it.
stays = Table(
    "stays",
    metadata,
    Column("member_id", ForeignKey("members.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("cohort_id", ForeignKey("cohorts.id"), nullable=False, index=True),
    Column("stage_ids", ARRAY(Text)),
    Column("position", Integer),
    at("entered_at", nullable=False),
    at("left_at"),
    PrimaryKeyConstraint("member_id", "number"),
)
