"""Which alerts a process has raised."""

from uuid import UUID

from parley_lab.agent_worker.told import Told


def test_the_newest_alerts_are_known_and_older_ones_take_no_memory() -> None:
    told = Told(most=2)
    experiments = [UUID(int=number) for number in range(3)]

    for one in experiments:
        told.add(one, "key")

    assert [(one, "key") in told for one in experiments] == [False, True, True]
    assert (experiments[2], "another key") not in told
