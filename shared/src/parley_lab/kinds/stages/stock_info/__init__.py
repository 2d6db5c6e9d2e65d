"""Stocks to look at: prices from a table in the file, and what became of them by year."""

from parley_lab.kinds.stages.stock_info.rules import KIND as KIND
