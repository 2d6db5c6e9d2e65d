"""What the kinds of conversations share: the shape of replies, the right to speak, the transcript in prompts."""
