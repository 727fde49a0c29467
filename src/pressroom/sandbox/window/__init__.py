"""The sandbox's window: one local page that shows the chats of all emulators as a messenger would, live.

Plain files, no build step, nothing from elsewhere. What the page shows and does goes through the control API, which
is served beside it, so that a person at the window can do nothing that a test could not.
"""

from pressroom.sandbox.window.page import window_app

__all__ = ["window_app"]
