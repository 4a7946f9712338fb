"""Makes the pictures of the live page for the documentation (page/screenshots): of the site that the tests play, at a fixed time."""

import sys
from datetime import datetime, timezone
from pathlib import Path

import played
from conftest import ROOT
from browser import Viewer, chromium

IMAGES = ROOT / "docs" / "images"
TIME = datetime(2026, 3, 2, 14, 30, tzinfo=timezone.utc)
SCHEMES = ("light", "dark")
MARGIN = 16
# What each picture is of: the route, width and height of the window, the part of the page (None: the window), and words that must be on it.
STATES = {
    "map": ("", 1100, 700, None, ("pod256", "40 of 256 IPUs free", "ml/bert-l", "cordoned", "connection refused", "When a new job would start")),
    "queue": ("", 800, 900, "section[aria-labelledby=queue]", ("ml/train-7", "nlp/big-1", "14 runs of eval-*")),
    "job": ("#/job/ml/digits", 1100, 840, None, ("ml/digits", "1 of 1 instance", "41%", "OOMKilled", "digits-worker-3", "loss", "allocating 8 GiB")),
}


def play(server):
    digits = played.site(server)
    server.delete("job", "ml/digits")  # whose report is newer than the first ones of the curve
    return digits


def reports(server, digits):
    """While the page is open: curves begin then."""
    for step in range(40):
        server.put("job", played.report(digits, 2 + step, -25 + step * 0.6, loss=round(2.3 / (1 + step / 6) + step % 3 / 20, 3),
                                        learning_rate=round(1e-3 * 0.95**step, 6)))


def around(page, part):
    box = page.locator(part).bounding_box()
    return {"x": box["x"] - MARGIN, "y": box["y"], "width": box["width"] + 2 * MARGIN, "height": box["height"] + MARGIN}


def take(browser, server, digits, state, scheme, folder):
    route, width, height, part, words = STATES[state]
    viewer = Viewer(browser, server.url, viewport={"width": width, "height": height}, color_scheme=scheme, timezone_id="UTC", locale="en-GB")
    viewer.page.clock.set_fixed_time(TIME)
    viewer.open(route)
    reports(server, digits)
    viewer.sees(*words)
    viewer.page.screenshot(path=folder / f"live-page-{state}-{scheme}.png", full_page=part is not None, clip=part and around(viewer.page, part))
    server.delete("job", "ml/digits")
    viewer.close()
    assert viewer.errors == []


def main(words):
    folder = Path(words[0]) if words else IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    played.NOW = TIME
    server = played.Server()
    try:
        with chromium() as browser:
            digits = play(server)
            for state in STATES:
                for scheme in SCHEMES:
                    take(browser, server, digits, state, scheme, folder)
    finally:
        server.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
