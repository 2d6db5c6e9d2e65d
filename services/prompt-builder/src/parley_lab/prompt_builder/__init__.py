"""Makes prompts: a question (who, where, why, as of which sequence number) gives messages and a reply schema."""
