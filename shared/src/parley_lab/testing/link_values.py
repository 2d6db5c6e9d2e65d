"""Values of a link that are placeholders, and some that are none, for the lab and for its pages."""

PLACEHOLDERS = [
    "{{%PROLIFIC_PID%}}",
    "{{PROLIFIC_PID}}",
    "{{ participant.id }}",
    "%7B%7B%25PROLIFIC_PID%25%7D%7D",
    "%257B%257B%2525PROLIFIC_PID%2525%257D%257D",
    "study-7-{{%PROLIFIC_PID%}}",
    # What a mail program leaves when it takes the brackets for the end of the link, and what a browser decodes.
    "{{%PROLIFIC_PID%",
    "{{\N{REPLACEMENT CHARACTER}Y%}}",
    "${e://Field/PROLIFIC_PID}",
    "${assignmentId}",
    "%SURVEY_CODE%",
    "<PROLIFIC_PID>",
    "%3Cyour id%3E",
    "[workerId]",
    "[Worker ID]",
    "{participant_id}",
    " {{%PROLIFIC_PID%}} ",
    "{{%PROLIFIC_PID%}}\n",
]
IDS = [
    "5f2b8c1e9d3a4b0012345678",
    "p 1",
    "ann@example.org",
    "<ann@example.org>",
    "{6F9619FF-8B86-D011-B42D-00CF4FC964FF}",
    "[17]",
    "100%",
    "%41%",
    "PROLIFIC_PID",
    "a{b}c",
    "a%20b",
    "\N{PARROT}",
    "{}",
    "$5",
]
