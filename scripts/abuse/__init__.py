"""A hostile client beside another one."""
