"""What happens in the lab: each act in one place, beside the statements that it runs. Functions take a session.

| act | where |
|---|---|
| store, start an experiment | `starting` |
| join, advance, leave | `joining`, `advancing` |
| settle a cohort: unlock, draw, fire timers, end | `settling`; scripted cohorts as a whole: `courses` |
| ask, answer | `asking`, `answering`; answers that wait for a reading time: `page_times` |
| post | `posting` |
| publish, open and end a conversation | `conversation`, by `changes`, which writes what its rules decide |
| lease, save, close a draft | `drafts`; while a key is refused: `called_keys` |
| react | `reactions` |
| pause, resume, retry what failed, end, delete | `pausing`, `reviving`, `ending` |
| talk to a persona | `persona_chats` |
"""
