"""The bus carries hints between processes: at-least-once delivery, in any order, with acknowledgements.

RabbitMQ is in `parley_lab.bus.rabbit`, the bus of one process in `parley_lab.bus.in_process`, the outbox in
`parley_lab.bus.publisher`; both buses keep the contract below.
"""

from parley_lab.bus.contract import (
    DELIVERY_LIMIT,
    Bus,
    BusMisconfigured,
    BusRefused,
    BusUnavailable,
    Handler,
    Pause,
    Subscription,
    back_off,
    dead_queue,
)

__all__ = [
    "DELIVERY_LIMIT",
    "Bus",
    "BusMisconfigured",
    "BusRefused",
    "BusUnavailable",
    "Handler",
    "Pause",
    "Subscription",
    "back_off",
    "dead_queue",
]
