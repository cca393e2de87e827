"""The README's picture of the explorer, taken in Chromium.

python docs/pictures/explorer.py docs/_static/explorer.png
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver

import bocce

WIDTH, HEIGHT, SCREEN, COLOURS = 1440, 1310, 3, 256


def main(path: str | Path) -> None:
    options = webdriver.ChromeOptions()
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "explorer.html"
        page.write_text(bocce.explorer.page(), encoding="utf-8")
        browser.get(page.as_uri())
        browser.execute_script("bocce.explorer.go(arguments[0])", SCREEN)
        time.sleep(0.5)
        while not browser.execute_script("return document.body.dataset.drawn"):
            time.sleep(0.1)
        picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    browser.quit()
    picture.quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
