"""The Chromium of this machine, for tests that drive a browser.

Debian's `chromium-headless-shell` is the same engine without windows. For each page that is opened,
`chromium --headless` makes a whole window, which takes three times as long as the page.
"""

import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
