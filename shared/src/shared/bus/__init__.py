"""The bus carries hints between processes: at-least-once delivery, in any order, with acknowledgements.

RabbitMQ is in `shared.bus.rabbit`, the bus of one process in `shared.bus.in_process`, the outbox in
`shared.bus.publisher`; both buses keep the contract below.
"""

from shared.bus.contract import (
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
