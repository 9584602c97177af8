"""Drives real browsers: Chromium by its debugging pipe, Firefox by Marionette. Standard library only."""

import json
import os
import queue
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from ports import free_port

STEP_SECONDS = 120


class BrowserError(RuntimeError):
    """The browser refused a command. A refused page is not such an error."""


class Browser:
    """One browser with one tab and a fresh profile. The names in `foreign` resolve to this machine, so a page can have a foreign site."""

    def __init__(self, context, foreign=()):
        self.context = context
        self.foreign = foreign
        self.profile = tempfile.mkdtemp(prefix="profile-", dir=context.directory)
        self.process = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            # A browser is a process group of its own.
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def start(self):
        raise NotImplementedError

    def open(self, url):
        """Opens a URL as if it was typed. Returns None for a document, "download" for a download, or the browser's error."""
        raise NotImplementedError

    def evaluate(self, body, seconds=STEP_SECONDS):
        """Runs the body of an async function in the page, for at most `seconds`, and returns its JSON value."""
        raise NotImplementedError


class Chromium(Browser):
    program = "chromium"

    def start(self):
        (reader, self.input), (self.output, writer) = os.pipe(), os.pipe()
        arguments = [
            self.context.program("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio",
            "--autoplay-policy=no-user-gesture-required", "--disable-popup-blocking", "--remote-debugging-pipe",
            # The browser's own guards of the local network are off: what is tested is the proxy's.
            "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,Translate,MediaRouter",
            f"--user-data-dir={self.profile}",
        ]
        if self.foreign:
            arguments.append("--host-resolver-rules=" + ",".join(f"MAP {name} 127.0.0.1" for name in self.foreign))
        with open(os.path.join(self.context.directory, "chromium.log"), "ab") as log:
            # The browser expects its ends of the pipe at these descriptors.
            self.process = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{reader} 4>&{writer}', "chromium", *arguments, "about:blank"], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=log, start_new_session=True, pass_fds=(reader, writer))
        os.close(reader)
        os.close(writer)
        self.buffer = b""
        self.number = 0
        self.events = queue.Queue()
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        for end in ("input", "output"):
            if hasattr(self, end):
                os.close(getattr(self, end))

    def call(self, method, seconds=STEP_SECONDS, **parameters):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.input, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]
            if "method" in answer:
                self.events.put(answer)

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.output], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise BrowserError("Chromium was silent for too long")
            chunk = os.read(self.output, 1 << 16)
            if not chunk:
                raise BrowserError("Chromium ended")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, url):
        result = self.call("Page.navigate", url=url)
        if result.get("errorText") == "net::ERR_ABORTED" and not result.get("isDownload"):
            # Chromium gives up a few visits to the URL that the tab shows, also without the proxy.
            result = self.call("Page.navigate", url=url)
        if result.get("errorText"):
            return "download" if result.get("isDownload") else result["errorText"]
        deadline = time.monotonic() + STEP_SECONDS
        while time.monotonic() < deadline:
            try:
                if self.evaluate("return document.readyState + ' ' + location.href").startswith("complete " + url.split("#")[0][:60]):
                    return None
            except BrowserError:
                # The new page is replacing the old one.
                pass
            time.sleep(0.05)
        return "never complete"

    def evaluate(self, body, seconds=STEP_SECONDS):
        answer = self.call(
            "Runtime.evaluate", seconds, expression=f"(async () => {{ {body} }})()", awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")


class Firefox(Browser):
    program = "firefox"

    def start(self):
        port = free_port()
        preferences = {
            "marionette.port": port, "dom.disable_open_during_load": False,
            # No autoplay: without a sound device Firefox sooner or later stops media with sound.
            "media.autoplay.default": 5, "media.autoplay.blocking_policy": 0,
            "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
            "app.normandy.enabled": False, "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
            "browser.download.start_downloads_in_tmp_dir": True, "browser.download.always_ask_before_handling_new_types": False,
            "browser.download.useDownloadDir": True, "browser.download.folderList": 2, "browser.download.dir": self.profile,
            # The browser's own guards of the local network are off: what is tested is the proxy's.
            "network.lna.enabled": False, "network.lna.blocking": False, "network.socket.ip_addr_any.disabled": False,
            "network.dns.localDomains": ",".join(self.foreign),
        }
        with open(os.path.join(self.profile, "user.js"), "w", encoding="utf-8") as file:
            file.writelines(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items())
        with open(os.path.join(self.context.directory, "firefox.log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.context.program("firefox"), "--headless", "--no-remote", "--marionette", "--profile", self.profile],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "HOME": self.profile, "MOZ_DISABLE_CONTENT_SANDBOX": "1"})
        self.socket = self.connect(port)
        self.buffer = b""
        self.number = 0
        self.receive()
        self.call("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"pageLoadStrategy": "normal"}}})
        self.call("WebDriver:SetTimeouts", {"pageLoad": 20_000, "script": STEP_SECONDS * 1000})

    def connect(self, port):
        deadline = time.monotonic() + STEP_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=STEP_SECONDS)
            except OSError:
                time.sleep(0.1)
        raise BrowserError("Firefox did not start")

    def __exit__(self, *arguments):
        if hasattr(self, "socket"):
            self.socket.close()
        super().__exit__(*arguments)

    def receive(self):
        """Returns the next message: its length, a colon, JSON."""
        while True:
            length, colon, rest = self.buffer.partition(b":")
            if colon and len(rest) >= int(length):
                self.buffer = rest[int(length):]
                return json.loads(rest[: int(length)])
            chunk = self.socket.recv(1 << 16)
            if not chunk:
                raise BrowserError("Firefox ended")
            self.buffer += chunk

    def call(self, method, parameters):
        self.number += 1
        message = json.dumps([0, self.number, method, parameters]).encode()
        self.socket.sendall(str(len(message)).encode() + b":" + message)
        while True:
            answer = self.receive()
            if answer[0] == 1 and answer[1] == self.number:
                if answer[2]:
                    raise BrowserError(f"{method}: {answer[2]['error']}: {answer[2]['message']}")
                return answer[3]

    def open(self, url):
        try:
            self.call("WebDriver:Navigate", {"url": url})
        except BrowserError as error:
            # A download has no document.
            return "download" if "timeout" in str(error).lower() or "download" in str(error).lower() else str(error)
        return None if self.evaluate("return location.href").split("#")[0] == url.split("#")[0] else "download"

    def click(self, selector):
        """Clicks the middle of an element with the pointer."""
        self.evaluate(f"document.querySelector({selector!r}).scrollIntoView({{ block: 'center' }})")
        found = self.call("WebDriver:FindElement", {"using": "css selector", "value": selector})["value"]
        self.call("WebDriver:ElementClick", {"id": next(iter(found.values()))})

    def until(self, body, what):
        """Waits until the result of a script is true."""
        deadline = time.monotonic() + STEP_SECONDS
        while time.monotonic() < deadline:
            if self.evaluate(body):
                return
            time.sleep(0.1)
        raise BrowserError(f"never happened: {what}; {self.evaluate('return document.body.innerText')[-600:]}")

    def evaluate(self, body, seconds=STEP_SECONDS):
        self.call("WebDriver:SetTimeouts", {"script": seconds * 1000})
        script = (
            "const done = arguments[arguments.length - 1];"
            f"(async () => {{ {body} }})().then(value => done({{ value }}), error => done({{ error: String(error) }}));"
        )
        answer = self.call("WebDriver:ExecuteAsyncScript", {"script": script, "args": [], "newSandbox": True, "sandbox": None})["value"]
        if "error" in answer:
            raise BrowserError(answer["error"])
        return answer.get("value")


BROWSERS = {"chromium": Chromium, "firefox": Firefox}
