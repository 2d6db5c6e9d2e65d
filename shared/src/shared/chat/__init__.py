"""What the kinds of conversations share: the shape of an agent's words, who may speak, how a prompt shows it all."""
