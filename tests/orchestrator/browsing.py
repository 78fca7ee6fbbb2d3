"""Pages in a real browser. Screenshots are left in the folder that SCREENSHOTS names, for whoever wants to look."""

import os
from pathlib import Path
from typing import Any

Browser = Any
"""Playwright's; whoever has no browser does not have it either."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Visit:
    """A page, and every error its scripts made."""

    def __init__(self, browser: Browser, address: str, dark: bool = False, width: int = 1400) -> None:
        scheme = "dark" if dark else "light"
        self.page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address, timeout=120_000)

    def shoot(self, name: str) -> None:
        """Leave a screenshot of the whole page."""
        folder = os.environ.get("SCREENSHOTS")
        if folder:
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)
