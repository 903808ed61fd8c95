"""Conversations on several servers behind a front."""
