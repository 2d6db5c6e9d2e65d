"""Balanced Latin squares: orders in which each value comes equally often in each place. Pure.

Williams, E. J. (1949): Experimental designs balanced for the estimation of residual effects of treatments. Over a whole
cycle each value also comes equally often right after each other one; with an odd number of values that takes twice as
many orders, of which the second half is the first one backwards.
"""


def orders_in(values: int) -> int:
    """How many orders a cycle has."""
    return values if values % 2 == 0 or values == 1 else 2 * values


def order_at(values: int, number: int) -> list[int]:
    """The order with this number, from 0, of so many values, as places among them; numbers go round."""
    row = number % orders_in(values)
    zigzag = [place // 2 if place % 2 == 0 else values - (place + 1) // 2 for place in range(values)]
    found = [(one + row) % values for one in zigzag]
    return found[::-1] if row >= values else found
