"""What happens in the lab: each act in one place, beside the statements that it runs. Functions take a session.

| act | where |
|---|---|
| store, start an experiment | `starting`; its cohorts and members: `making`; assigned variables: `assigning` |
| replace a draft, fork an experiment | `redrafting` |
| pause, resume an experiment | `pausing` |
| retry what failed | `reviving` |
| end, delete an experiment | `ending` |
| delete what people said and did | `retention`, after its time; `forgetting`, of one person |
| join | `joining`; into an arm of one's own: `own_arms`; into a cohort made on arrival: `opening` |
| join by a link | `links`; what its address says: `link_values` |
| let no more people come | `opening` |
| add an agent or a mediator | `adding` |
| let an agent take a place | `standing_in` |
| move to another cohort | `transferring`; whether it takes one: `entering` |
| go on from a stage | `going_on`; move on, leave, wake: `advancing` |
| stay on a stage, and for how long | `staying` |
| wait for others | `waiting` |
| pause one member | `holding` |
| check attention | `attention` |
| be there, be gone | `presence` |
| ask | `asking` |
| answer | `answering`; what was begun: `partial_answers` |
| answer for scripts and for who has gone | `playing` |
| answer in an agent's reading time | `page_times` |
| settle a cohort | `settling`, statements for the rules of the orchestrator; cohorts of scripts: `courses` |
| fire a timer | `timers` |
| post | `posting`; without a lock: `said` |
| publish, open and end a conversation | `conversation`, by `changes`, which writes what its rules decide |
| show who types | `agents_typing` |
| react | `reactions` |
| lease, save, close a draft | `drafts`; its calls: `calls`; while a key is refused: `called_keys` |
| ask for help, tell a participant | `notices` |
| talk to a persona | `persona_chats` |
| look on, open a stream | `viewing`, `stream_tickets` |
| repeat a request that creates | `kept_answers` |
"""
