"""The driver of `make peers`: standard library only, so that it runs before anything is installed."""
