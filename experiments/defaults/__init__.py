"""Which tasks the defaults learn."""
