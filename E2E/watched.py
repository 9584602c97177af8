"""A tab of Chromium that records what went wrong in it, and that has a size, colours, keys and pictures."""

import base64
import os
import time
from pathlib import Path
from urllib.parse import urlsplit

from browser import STEP_SECONDS, Chromium
from harness import Failure, expect, expect_equal

KEYS = {"Enter": ("Enter", 13, "\r"), "Tab": ("Tab", 9, ""), "Escape": ("Escape", 27, ""), "Space": (" ", 32, " "), "ArrowDown": ("ArrowDown", 40, ""),
        "ArrowUp": ("ArrowUp", 38, ""), "Home": ("Home", 36, ""), "End": ("End", 35, "")}


class WatchedChromium(Chromium):
    """Chromium with one tab whose requests and errors are recorded."""

    def start(self):
        super().start()
        self.seen = []
        for domain in ("Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def look(self, width, dark):
        """Sets the width of the window and the colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=844 if width < 500 else 900, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def until(self, condition, what):
        """Waits until an expression in the page is true."""
        deadline = time.monotonic() + STEP_SECONDS
        while time.monotonic() < deadline:
            if self.evaluate(f"return Boolean({condition})"):
                return
            time.sleep(0.1)
        raise Failure(f"never happened: {what}; {self.evaluate('return document.body.innerText')[-600:]}")

    def press(self, key):
        name, code, text = KEYS[key]
        event = {"key": name, "code": key, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def tab_to(self, selector):
        """Presses Tab until an element has the focus."""
        for _ in range(80):
            self.press("Tab")
            if self.evaluate(f"return document.activeElement?.matches({selector!r}) === true"):
                return
        raise Failure(f"Tab never reaches {selector}")

    def click(self, selector):
        """Clicks the middle of an element with the pointer."""
        place = self.evaluate(
            f"const found = document.querySelector({selector!r}); found.scrollIntoView({{ block: 'center' }});"
            "const box = found.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2];")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def picture(self, name):
        """Keeps a picture of the whole page, if somebody looks at pictures."""
        directory = os.environ.get("SPOOL_E2E_PICTURES")
        if not directory:
            return
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        Path(directory).mkdir(parents=True, exist_ok=True)
        (Path(directory) / f"{name}.png").write_bytes(base64.b64decode(data))

    def take_events(self):
        while not self.events.empty():
            self.seen.append(self.events.get())
        return self.seen

    def errors(self):
        """Returns the errors of the console: of scripts, and of the browser itself."""
        found = []
        for event in self.take_events():
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"].get("exception", {}).get("description") or parameters["exceptionDetails"]["text"])
            if event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(str([argument.get("value") for argument in parameters["args"]]))
            if event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")
        return found

    def hosts(self):
        """Returns the hosts of all requests of the tab."""
        urls = [event["params"]["request"]["url"] for event in self.take_events() if event["method"] == "Network.requestWillBeSent"]
        return {urlsplit(url).hostname for url in urls if urlsplit(url).scheme.startswith("http")}

    def expect_clean(self):
        """Expects no error on the console, and no request to another host."""
        expect_equal(self.errors(), [], "errors on the console")
        expect(self.hosts() <= {"127.0.0.1"}, f"requests to {self.hosts()}")
