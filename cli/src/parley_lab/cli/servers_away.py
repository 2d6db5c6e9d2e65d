"""What operators are told about a PostgreSQL or a RabbitMQ that their lab cannot use."""

from parley_lab.base.errors import Unavailable
from parley_lab.bus import BusRefused, BusUnavailable
from parley_lab.store.failures import cause_of, is_refused


def of_database(error: Unavailable) -> str:
    """What is wrong with the address of the database, and what to do."""
    if is_refused(error):
        return (
            f"PostgreSQL answers at PARLEY_DATABASE_URL and lets nobody in ({cause_of(error)}). See the user, the "
            "password and the name of the database in it."
        )
    return (
        "PostgreSQL does not answer at PARLEY_DATABASE_URL. See that it runs, that the address is right and that this "
        f"machine may connect ({cause_of(error) or error.message})."
    )


def of_broker(error: BusUnavailable) -> str:
    """What is wrong with the address of the broker, and what to do."""
    if isinstance(error, BusRefused):
        return (
            f"RabbitMQ answers at PARLEY_AMQP_URL and lets nobody in ({error.message}). See the user, the password and "
            "the virtual host in it. Posts are taken meanwhile, and their hints wait."
        )
    return (
        "RabbitMQ does not answer at PARLEY_AMQP_URL. See that it runs, that the address is right and that no alarm is "
        "raised (rabbitmq-diagnostics alarms). Posts are taken meanwhile, and their hints wait."
    )
