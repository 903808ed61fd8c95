"""Draws pages and plots from the JSON that `cairn-lab bench` and `cairn-lab bench load` write."""
