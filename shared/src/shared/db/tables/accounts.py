"""Who may use the lab, and what belongs to them."""

from sqlalchemy import (
    ARRAY,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.db.tables.base import at, metadata, one_of

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
)

personas = Table(
    "personas",
    metadata,
    Column("owner_id", ForeignKey("experimenters.id"), nullable=False),
    Column("id", Text, nullable=False),
    Column("document", JSONB, nullable=False),
    Column("version", Integer, nullable=False, server_default=text("1")),
    at("created_at", nullable=False),
    at("updated_at", nullable=False),
    PrimaryKeyConstraint("owner_id", "id"),
)
