# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A real browser without a window, asked over its DevTools pipe: file descriptors 3 and 4, JSON ended by a zero byte."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

BROWSERS = ('chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome')


class Browser:
    """One page at a time; `errors` has what its scripts have thrown."""

    def __init__(self):
        path = next(filter(None, map(shutil.which, BROWSERS)), None)
        if not path:
            raise FileNotFoundError('no browser is installed: apt-get install chromium-headless-shell')
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()

        def hand_over():
            # Both are above 4 before they are copied there, or one would close the other.
            ends = [os.dup(fd) for fd in (to_read, to_write)]
            while min(ends) < 5:
                ends = [os.dup(fd) for fd in ends]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)
        self.process = subprocess.Popen(
            [path, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--remote-debugging-pipe', '--no-first-run',
             '--hide-scrollbars', '--user-data-dir=' + self.home.name, 'about:blank'],
            preexec_fn=hand_over, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.asked, self.rest, self.errors, self.session, self.seen = 0, b'', [], None, set()
        target = next(t for t in self.ask('Target.getTargets')['targetInfos'] if t['type'] == 'page')
        self.session = self.ask('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        for part in ('Page', 'Runtime'):
            self.ask(part + '.enable')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        os.close(self.write)
        os.close(self.read)
        self.home.cleanup()

    def message(self):
        while b'\0' not in self.rest:
            got = os.read(self.read, 1 << 20)
            if not got:
                raise EOFError('the browser has ended')
            self.rest += got
        text, self.rest = self.rest.split(b'\0', 1)
        said = json.loads(text)
        self.seen.add(said.get('method'))
        if said.get('method') == 'Runtime.exceptionThrown':
            details = said['params']['exceptionDetails']
            self.errors.append(details.get('exception', {}).get('description', details['text']))
        return said

    def ask(self, method, **params):
        self.asked += 1
        call = {'id': self.asked, 'method': method, 'params': params}
        if self.session:
            call['sessionId'] = self.session
        os.write(self.write, json.dumps(call).encode() + b'\0')
        while True:
            said = self.message()
            if said.get('id') == self.asked:
                if 'error' in said:
                    raise RuntimeError('%s: %s' % (method, said['error']['message']))
                return said['result']

    def open(self, path, width=1300, height=1000, dark=False, media=''):
        self.ask('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask('Emulation.setTouchEmulationEnabled', enabled=width < 600)
        self.ask('Emulation.setEmulatedMedia', media=media,
                 features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.seen.clear()
        self.ask('Page.navigate', url='file://' + os.path.abspath(path))
        while 'Page.loadEventFired' not in self.seen:
            self.message()

    def run(self, expression):
        """Its value."""
        done = self.ask('Runtime.evaluate', expression=expression, returnByValue=True)
        if 'exceptionDetails' in done:
            raise RuntimeError(done['exceptionDetails'].get('exception', {}).get('description', expression))
        return done['result'].get('value')

    def press(self, key):
        for kind in ('keyDown', 'keyUp'):
            self.ask('Input.dispatchKeyEvent', type=kind, key=key, code=key,
                     windowsVirtualKeyCode={'Tab': 9, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40}[key])

    def tap(self, x, y):
        self.ask('Input.dispatchTouchEvent', type='touchStart', touchPoints=[{'x': x, 'y': y}])
        self.ask('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])

    def move(self, x, y):
        self.ask('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)

    def picture(self, path):
        """Of the whole page."""
        size = self.ask('Page.getLayoutMetrics')['cssContentSize']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.ask('Page.captureScreenshot', captureBeyondViewport=True, clip=dict(size, scale=1))['data']))

    def pdf(self):
        return base64.b64decode(self.ask('Page.printToPDF', printBackground=True, preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.69)['data'])
