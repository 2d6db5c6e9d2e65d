"""Experimenters, and what belongs to them."""

from sqlalchemy import (
    ARRAY,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from parley_lab.store.tables.base import at, flag, metadata, number, one_of

lab = Table(
    "lab",
    metadata,
    Column("only", Boolean, primary_key=True, server_default=text("true")),
    Column("bus", Text, nullable=False),
    CheckConstraint('"only"', name="only_row"),
    one_of("bus", ("in-process", "rabbitmq"), name="bus"),
)

experimenters = Table(
    "experimenters",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    at("created_at", nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("prefix", Text, nullable=False),
    Column("experimenter_id", ForeignKey("experimenters.id"), nullable=False, index=True),
    Column("scopes", ARRAY(Text), nullable=False),
    at("created_at", nullable=False),
    at("expires_at"),
    at("last_used_at"),
    Column("id", Uuid, nullable=False, unique=True, server_default=text("gen_random_uuid()")),
    Column("label", Text, nullable=False, server_default=text("''")),
    flag("is_bootstrap"),
    at("revoked_at"),
)

# Each opens one sign-in of the owner of a key, once.
sign_in_codes = Table(
    "sign_in_codes",
    metadata,
    Column("code_hash", Text, primary_key=True),
    Column("key_id", ForeignKey("api_keys.id"), nullable=False, index=True),
    at("expires_at", nullable=False),
    Index(None, "expires_at"),
)

# A browser in which the owner of a key is signed in; the row goes when they sign out.
sign_ins = Table(
    "sign_ins",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("key_id", ForeignKey("api_keys.id"), nullable=False, index=True),
    at("begun_at", nullable=False),
    at("used_at", nullable=False),
    at("expires_at", nullable=False),
    number("idle_seconds"),
    Index(None, "expires_at"),
)

deeds = Table(
    "deeds",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("experimenter_id", ForeignKey("experimenters.id"), nullable=False),
    Column("key_id", Uuid, nullable=False),
    Column("deed", Text, nullable=False),
    Column("correlation", Text, nullable=False),
    at("at", nullable=False),
    # Stays when the experiment is deleted, so it refers to none.
    Column("experiment_id", Uuid),
    Column("reason", Text, nullable=False, server_default=text("''")),
    Index(None, "experimenter_id", "at"),
    Index(None, "experiment_id", "at"),
)

# Each opens one live stream; what it stands for is the hash of a token of `members` or of a key of `api_keys`.
stream_tickets = Table(
    "stream_tickets",
    metadata,
    Column("ticket_hash", Text, primary_key=True),
    Column("bearer_hash", Text, nullable=False),
    at("expires_at", nullable=False),
    Index(None, "expires_at"),
)

# What a creating request was answered, for the same one under the same Idempotency-Key; its bearer alone can read it.
kept_answers = Table(
    "kept_answers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("request_hash", Text, nullable=False),
    Column("answer", LargeBinary),
    at("expires_at", nullable=False),
    Index(None, "expires_at"),
)

# How many requests gateways have taken of a limit in its present window.
request_limits = Table(
    "request_limits",
    metadata,
    Column("name", Text, primary_key=True),
    at("began_at", nullable=False),
    number("taken"),
    number("granted"),
    Index(None, "began_at"),
)

personas = Table(
    "personas",
    metadata,
    Column("owner_id", ForeignKey("experimenters.id"), nullable=False),
    Column("id", Text, nullable=False),
    Column("document", JSONB, nullable=False),
    number("version", default=1),
    at("created_at", nullable=False),
    at("updated_at", nullable=False),
    PrimaryKeyConstraint("owner_id", "id"),
)
