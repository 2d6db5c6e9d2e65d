"""The system message that a workbook gives an agent, for estimates of tokens. Pure."""

from parley_lab.formats.workbook.assignment import SeatDraw, WorkbookSession
from parley_lab.formats.workbook.design import Design, Role


def system_message(design: Design, session: WorkbookSession, seat: SeatDraw | Role) -> str:
    """Context, treatment, profile and role, in this order; special roles have no profile."""
    role = seat.role if isinstance(seat, SeatDraw) else seat
    parts = [
        design.context.text.strip(),
        session.arm.description.strip(),
        profile_text(design, seat) if isinstance(seat, SeatDraw) else "",
        role.description.strip(),
    ]
    return "\n\n".join(part for part in parts if part)


def profile_text(design: Design, seat: SeatDraw) -> str:
    """The agent's answers as numbered questions; blank cells are left out, 0 and FALSE are not."""
    lines = [
        f"{number}) Interviewer: {column.question} Me: {answer}"
        for number, (column, answer) in enumerate(design.answers(seat.profile), start=1)
    ]
    return "\n".join(["This is what you told an interviewer about yourself:", *lines]) if lines else ""
