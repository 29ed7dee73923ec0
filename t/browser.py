# SPDX-License-Identifier: BSD-3-Clause
"""A page in a headless Chromium: what it asks for, what it complains about, how it looks.

    browser.py PAGE DIR

PAGE is opened as file://. Into DIR go light.png, dark.png, narrow.png, hover.png and print.pdf. On
stdout, one "key value" per line: requests (beside the page itself), console (messages, errors,
exceptions), hidden-tips, shown-tips (with the pointer on the first value), overflow (elements wider
than the page), contrast (texts below 4.5:1, light and dark), headings, unlabelled (drawings without a
name), headless-tables, figures-without-values (no table of them), touching (texts of a drawing that
overlap), first-screen (how far down the verdict, the first figures and the caveats reach at 1400 x 900),
pictures (their sides), scripts, focusable. Exit 77 when the browser can't be started, or ends, or does
not answer in time.

The browser is driven through its DevTools pipe: no port, no other library.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT_S = 150


class Browser:
    """One Chromium with one page, until close()."""

    def __init__(self, home):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            raise OSError("chromium is not installed")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def wire():  # the browser reads 3 and writes 4
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.log = open(os.path.join(home, "log"), "wb")
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--disable-component-update", "--no-first-run",
             "--hide-scrollbars", "--force-color-profile=srgb", "--user-data-dir=" + home,
             "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, close_fds=False, preexec_fn=wire)
        os.close(to_browser)
        os.close(from_browser)
        self.end = time.monotonic() + LIMIT_S
        self.rest, self.serial, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def receive(self):
        while b"\0" not in self.rest:
            left = self.end - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                raise OSError("the browser does not answer")
            piece = os.read(self.input, 1 << 20)
            if not piece:
                raise OSError("the browser ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.serial += 1
        request = {"id": self.serial, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.serial:
                if "error" in answer:
                    raise ValueError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.receive())

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise ValueError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


# WCAG 2: relative luminance and contrast of each text against the nearest background.
CONTRAST = r"""(() => {
  const parse = c => (c.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = c => { const l = c.slice(0, 3).map(v => { v /= 255;
    return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * l[0] + .7152 * l[1] + .0722 * l[2]; };
  const paper = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const text = [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim());
    if (!text || e.closest('.tip') || !e.getClientRects().length) continue;
    const s = getComputedStyle(e), ink = parse(e.closest('svg') ? s.fill : s.color);
    for (let p = e; p; p = p.parentElement) if (getComputedStyle(p).opacity < 1 && !p.closest('svg'))
      bad.push(p.tagName + '.' + p.className + ' is faint');
    const a = light(ink), b = light(paper(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.push(e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + ratio.toFixed(2));
  }
  return [...new Set(bad)].join('; ');
})()"""

CHECKS = {
    "overflow": r"""[...document.querySelectorAll('body *')].filter(e => !e.closest('svg, .wide')
      && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
      .map(e => e.tagName + '.' + e.className).join(' ')""",
    "headings": "[...document.querySelectorAll('h1,h2,h3,h4')].map(e => e.tagName[1]).join('')",
    "unlabelled": """[...document.querySelectorAll('svg')].filter(e => !(e.getAttribute('aria-hidden')
      || (e.getAttribute('role') == 'img' && e.getAttribute('aria-label')))).length""",
    "headless-tables": """[...document.querySelectorAll('table')].filter(t => !t.caption
      || ![...t.querySelectorAll('thead th')].every(h => h.scope == 'col')
      || ![...t.querySelectorAll('tbody tr')].every(r => r.cells[0].tagName == 'TH'
      && r.cells[0].scope == 'row')).length""",
    "scripts": "document.scripts.length + document.querySelectorAll('link,img:not([src^=\"data:image/png;base64,\"]),iframe,object,embed').length",
    "focusable": "document.querySelectorAll('summary, a[href], .wide[tabindex]').length",
    "figures-without-values": """[...document.querySelectorAll('figure:has(svg)')].filter(f =>
      !f.querySelector('details > summary') || f.querySelectorAll('details tbody tr').length < 2).length""",
    "touching": """[...document.querySelectorAll('svg.chart')].flatMap(svg => {
      const boxes = [...svg.querySelectorAll('text')].filter(e => !e.closest('.tip'))
        .map(e => [e.textContent, e.getBoundingClientRect()]);
      const out = svg.getBoundingClientRect();
      return boxes.flatMap(([t, a], i) => [
        ...a.left < out.left - 1 || a.right > out.right + 1 || a.bottom > out.bottom + 1 ? [t] : [],
        ...boxes.slice(i + 1).filter(([, b]) => a.left < b.right && b.left < a.right
          && a.top + 2 < b.bottom - 2 && b.top + 2 < a.bottom - 2).map(([u]) => t + '/' + u)]);
      }).join(' ')""",
    "pictures": """[...document.images].map(e => e.naturalWidth + 'x' + e.naturalHeight).join(' ')""",
    "drawings": "document.querySelectorAll('svg.chart').length",
}
TIPS = """[...document.querySelectorAll('.tip')].filter(e => getComputedStyle(e).visibility
  == 'visible').length"""


def complaints(events):
    for e in events:
        method, params = e.get("method"), e.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            yield json.dumps(params)
        elif method == "Log.entryAdded":
            yield params["entry"]["level"] + ": " + params["entry"]["text"]


def look(browser, url, folder):
    for domain in "Page", "Network", "Runtime", "Log":
        browser.call(domain + ".enable")
    browser.size(1400, 900)
    browser.scheme("light")
    browser.call("Page.navigate", url=url)
    browser.wait("Page.loadEventFired")
    found = {name: browser.evaluate(script) for name, script in CHECKS.items()}
    found["contrast"] = browser.evaluate(CONTRAST)
    found["first-screen"] = browser.evaluate("""Math.round(Math.max(0, ...[...document.querySelectorAll(
      '[id^=verdict-], .tiles, .first figure, .caveats')].map(e => e.getBoundingClientRect().bottom)))""")
    browser.picture(os.path.join(folder, "light.png"))
    found["hidden-tips"] = browser.evaluate(TIPS)
    place = browser.evaluate("""(() => { const e = document.querySelector('.hot'); if (!e) return null;
      e.scrollIntoView({block: 'center'}); const r = e.firstElementChild.getBoundingClientRect();
      return [r.x + r.width / 2, r.y + r.height / 2]; })()""")
    if place:
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        found["shown-tips"] = browser.evaluate(TIPS)
        found["tip"] = browser.evaluate(
            "[...document.querySelectorAll('.hot:hover .tip text')].map(e => e.textContent).join(' | ')")
        browser.picture(os.path.join(folder, "hover.png"), whole=False)
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)
    browser.scheme("dark")
    found["contrast-dark"] = browser.evaluate(CONTRAST)
    found["paper-dark"] = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    browser.picture(os.path.join(folder, "dark.png"))
    browser.scheme("light")
    browser.size(360, 800)
    found["overflow-narrow"] = browser.evaluate(CHECKS["overflow"])
    found["touching-narrow"] = browser.evaluate(CHECKS["touching"])
    browser.picture(os.path.join(folder, "narrow.png"))
    data = browser.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"]
    with open(os.path.join(folder, "print.pdf"), "wb") as f:
        f.write(base64.b64decode(data))
    asked = [e["params"]["request"]["url"] for e in browser.events
             if e.get("method") == "Network.requestWillBeSent"]
    found["requests"] = " ".join(u[:200] for u in asked if u != url and not u.startswith("data:image/png;base64,"))
    found["page"] = asked.count(url)
    found["console"] = "; ".join(complaints(browser.events))
    return found


def main(page, folder):
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        try:
            browser = Browser(home)
        except OSError as e:
            print(e, file=sys.stderr)
            return 77
        try:
            found = look(browser, "file://" + os.path.abspath(page), folder)
        except OSError as e:
            print(e, file=sys.stderr)
            return 77
        finally:
            browser.close()
    for key in sorted(found):
        print(key, found[key])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
