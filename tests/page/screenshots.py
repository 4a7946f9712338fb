"""Makes the pictures of the live page in docs/images, from the site that the tests play:

    $(deploy/prerequisites python)/bin/python tests/page/screenshots.py
"""

from conftest import ROOT
from browser import Viewer, chromium
from played import Server, report, site

IMAGES = ROOT / "docs" / "images"


def main():
    server = Server()
    try:
        with chromium() as browser:
            digits = site(server)
            one = Viewer(browser, server.url, viewport={"width": 1100, "height": 720}, color_scheme="light").open()
            one.page.screenshot(path=IMAGES / "live-page-map.png")
            one.close()
            one = Viewer(browser, server.url, viewport={"width": 1100, "height": 860}, color_scheme="dark").open("#/job/ml/digits")
            server.delete("job", "ml/digits")  # whose report is newer than these
            for step in range(40):
                server.put("job", report(digits, 2 + step, -25 + step * 0.6, loss=round(2.3 / (1 + step / 6) + step % 3 / 20, 3), learning_rate=1e-3 * 0.95**step))
            one.sees("41%")
            one.page.screenshot(path=IMAGES / "live-page-job.png")
            one.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
