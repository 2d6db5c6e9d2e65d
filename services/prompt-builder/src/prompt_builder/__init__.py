"""One question (who, where, why, as of which sequence number), one answer (messages, reply schema)."""
