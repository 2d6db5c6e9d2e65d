"""Currencies of payments and prices, and how many decimals their amounts have."""

from typing import Annotated, Final

from pydantic import Field

POINTS: Final = "points"
"""Instead of a currency: what is paid is points, which are exchanged elsewhere."""
_WHOLE: Final = (
    "BIF",
    "CLP",
    "DJF",
    "GNF",
    "ISK",
    "JPY",
    "KMF",
    "KRW",
    "PYG",
    "RWF",
    "UGX",
    "VND",
    "VUV",
    "XAF",
    "XOF",
)
_OF_THOUSANDTHS: Final = ("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND")

Currency = Annotated[str, Field(pattern=r"^([A-Z]{3}|points)$")]
"""The code of a currency in ISO 4217, such as CHF or JPY, or `points`."""


def decimals_of(currency: str) -> int:
    """The number of decimals of an amount that is paid in this currency. Points may be shown without any."""
    if currency in _WHOLE:
        return 0
    return 3 if currency in _OF_THOUSANDTHS else 2


def fewest_decimals(currency: str) -> int:
    """The least number of decimals with which an amount is shown."""
    return 0 if currency == POINTS else decimals_of(currency)


def spoken(currency: str, amount: str) -> str:
    """An amount in a sentence: `USD 2.50`, `12 points`."""
    return f"{amount} {POINTS}" if currency == POINTS else f"{currency} {amount}"
