"""Response options of interview questions, what a prompt shows of them, and what a reply to them means. Pure."""
