"""Pressroom takes content in, understands it, writes more of it, delivers it and answers back."""

from importlib.metadata import version

__version__ = version("pressroom")
