"""What the fault tests do with a lab."""

from uuid import UUID

from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.experiments import starting
from tests.flows.drain import load_text


async def start(lab: EmbeddedLab, document: str) -> UUID:
    """Create and start an experiment of the lab's own operator."""
    experiment = load_text(document)
    async with lab.database.transaction() as session:
        experiment_id = await starting.create(session, lab.operator_id, experiment, lab.clock.now())
        await starting.start(session, experiment_id, lab.clock.now())
    return experiment_id
