"""Recorded traces, played by `cairn-lab sim` under many policies and on many fleets."""
