# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The page of `osmroutes report` in a real browser: at the width of a phone, a tablet and a desk, light, dark and in print,
with a mouse, a finger and the keyboard. Skipped where no browser is installed; page.py looks at what it says without one."""
import re
import sys

from browser import Browser
from command import at, generate, run, topology

WIDTHS = {'phone': 390, 'tablet': 820, 'desk': 1300}

# In the page: what runs out at the right, but for what scrolls in a box of its own.
BEYOND = """[...document.querySelectorAll('body, body *')].filter(e => !e.closest('.wide') &&
    e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"""

# Names that lie on each other, or outside their picture: corners of the turned boxes, separated along an edge or not.
CROSSED = """(() => {
    const found = [], corners = e => {
        const b = e.getBBox(), m = e.getScreenCTM();
        return [[b.x, b.y + 1], [b.x + b.width, b.y + 1], [b.x + b.width, b.y + b.height - 1], [b.x, b.y + b.height - 1]].map(([x, y]) =>
            [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f]);
    };
    const apart = (p, q) => [p, q].some(box => [0, 1].some(i => {
        const [dx, dy] = [box[i + 1][0] - box[i][0], box[i + 1][1] - box[i][1]], on = z => z.map(([x, y]) => x * dx + y * dy);
        return Math.max(...on(p)) <= Math.min(...on(q)) || Math.max(...on(q)) <= Math.min(...on(p));
    }));
    for (const svg of document.querySelectorAll('svg')) {
        const names = [...svg.querySelectorAll('text')].map(e => [e.textContent, corners(e)]), f = svg.getBoundingClientRect();
        names.forEach(([t, p], i) => {
            if (p.some(([x, y]) => x < f.left - 1 || x > f.right + 1 || y < f.top - 1 || y > f.bottom + 1))
                found.push(t + ' leaves its picture');
            for (const [u, q] of names.slice(0, i))
                if (!apart(p, q))
                    found.push(t + ' on ' + u);
        });
    }
    return found;
})()"""

# Words that stand out too little from what is behind them (WCAG 2: 4.5 to 1).
FAINT = """(() => {
    const parts = c => c.match(/[0-9.]+/g).map(Number);
    const light = c => parts(c).slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = e => {
        for (; e; e = e.parentElement) {
            const c = getComputedStyle(e).backgroundColor;
            if (parts(c)[3] !== 0)
                return c;
        }
        return 'rgb(255, 255, 255)';
    };
    return [...document.querySelectorAll('body *')].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
        const s = getComputedStyle(e), [x, y] = [light(e.closest('svg') ? s.fill : s.color), light(behind(e))].sort((a, b) => b - a);
        return [(x + 0.05) / (y + 0.05), e.textContent.slice(0, 40)];
    }).filter(([ratio]) => ratio < 4.5);
})()"""

SIZES = """[...document.querySelectorAll('svg text')].map(e => parseFloat(getComputedStyle(e).fontSize) *
    e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width)"""


def same(what, got, want):
    if got != want:
        sys.exit('%s: %s, not %s' % (what, got, want))


def check_looks(browser, page, what, n_switches):
    for name, width in WIDTHS.items():
        for dark in False, True:
            browser.open(page, width, dark=dark)
            here = '%s on a %s%s' % (what, name, ', dark' if dark else '')
            for script in BEYOND, CROSSED, FAINT:
                same(here, browser.run(script), [])
            sizes = browser.run(SIZES)
            if min(sizes) < 9:
                sys.exit('%s: letters of %.1f px' % (here, min(sizes)))
            drawn = browser.run("[document.querySelectorAll('circle').length, document.querySelectorAll('svg text.name').length]")
            panes = browser.run("document.querySelectorAll('figure').length && [...document.querySelectorAll('figure svg')].filter("
                                "s => s.querySelector('circle')).length")
            if n_switches <= 100 and drawn[0] != n_switches * panes or n_switches > 100 and drawn[0] > 100 * panes:
                sys.exit('%s: %s circles and names of %d switches' % (here, drawn, n_switches))
            # Names have no room beside the points of a grid on a phone; elsewhere all stand there.
            if drawn[1] != drawn[0] and not (what == 'grid' and not drawn[1] and name == 'phone'):
                sys.exit('%s: %d of %d names' % (here, drawn[1], drawn[0]))
    same('errors of ' + what, browser.errors, [])


def said(browser, k=0):
    return browser.run("document.querySelectorAll('.said')[%d].textContent" % k)


def check_names_by_hand(browser, page):
    """Every way to a name: a finger, a mouse on a cable, and the keyboard."""
    centre = """(() => { const b = document.querySelectorAll('%s')[%d]; b.scrollIntoView({ block: 'center' });
        const r = b.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()"""
    browser.open(page, WIDTHS['phone'])
    names = browser.run("[...document.querySelectorAll('svg text.name')].map(e => e.textContent)")
    for i, figure in (0, 0), (len(names) - 1, 1):
        browser.tap(*browser.run(centre % ('circle', i)))
        if not said(browser, figure).startswith(names[i] + ': '):
            sys.exit('a finger on %s: %s' % (names[i], said(browser, figure)))
    browser.open(page, WIDTHS['desk'])
    browser.run("document.querySelector('figure svg').focus()")
    seen = set()
    for key in ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'ArrowDown']:
        for _ in names if key in ('ArrowUp', 'ArrowDown') else 'x':
            browser.press(key)
            seen.add(said(browser).split(': ')[0])
    same('switches that the arrow keys lead to', sorted(seen), sorted(set(names)))
    for k in range(browser.run("document.querySelectorAll('figure').length")):
        browser.run("document.querySelectorAll('figure svg[data-pick]')[%d].focus()" % k)
        told = set()
        for key in 'ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp':
            browser.press(key)
            told.add(said(browser, k))
        if len(told) < 2 or not all(re.search(r'\d', t) for t in told):
            sys.exit('figure %d and arrow keys: %s' % (k, told))
    # Tab reaches the figures, one after the other.
    browser.open(page, WIDTHS['desk'])
    for _ in range(3):
        browser.press('Tab')
    same('the third stop of Tab', browser.run("[...document.querySelectorAll('figure svg')].indexOf(document.activeElement)"), 2)
    # A mouse in the middle of a cable names both ends.
    spot = browser.run("""(() => { const p = document.querySelector('.cable'); p.scrollIntoView({ block: 'center' });
        const at = p.getPointAtLength(p.getTotalLength() / 3), m = p.getScreenCTM();
        return [m.a * at.x + m.e, m.d * at.y + m.f]; })()""")
    browser.move(*spot)
    if not re.match(r'\d+ cables? between .* and .*; the busiest channel: .*\d routes?', said(browser)):
        sys.exit('a mouse on a cable: ' + said(browser))


def check_print(browser, page, what):
    """Light whatever the screen is, no hints, and no figure or section that a page cannot hold is cut."""
    browser.open(page, 690, dark=True, media='print')  # A4 without its margins
    same(what + ' in print', browser.run("getComputedStyle(document.body).backgroundColor"), 'rgb(255, 255, 255)')
    same(what + ' in print', browser.run("[...document.querySelectorAll('.said')].filter(e => e.offsetHeight).length"), 0)
    same(what + ' in print', browser.run(BEYOND), [])
    tall = browser.run("""[...document.querySelectorAll('figure')].map(e => [e.offsetHeight, getComputedStyle(e).breakInside])
        .filter(([h, how]) => h > 1010 || how !== 'avoid')""")
    same(what + ': figures that a sheet of A4 cannot hold', tall, [])
    browser.open(page, WIDTHS['desk'])
    sheets = len(re.findall(rb'/Type\s*/Page\b', browser.pdf()))
    if not 2 <= sheets <= 12:
        sys.exit('%s: %d sheets' % (what, sheets))


def report(name, *words):
    run('report', *words, '--bisections=20', '--html', at(name + '.html'))
    return at(name + '.html')


def renamed(source, target, wrap):
    """With long names, most of which they share."""
    with open(source) as file:
        text = file.read()
    for name in set(re.findall(r'^Switch[^\n]*?"([^"]+)"', text, re.M)):
        text = text.replace('"%s"' % name, '"%s"' % (wrap % name))
    with open(at(target), 'w') as file:
        file.write(text)
    return at(target)


try:
    browser = Browser()
except FileNotFoundError as missing:
    print('skipped: %s' % missing)
    sys.exit(77)
with browser:
    tree = renamed(generate('kary', 'k=6', 'n=2'), 'tree.net', 'MF0;rack-A01-%s:MQM8700/U1')
    pages = {
        'tree': (report('tree', tree, '-e', 'dfsssp', '-e', 'sssp'), 12),
        'tree of 75': (report('tree75', generate('kary', 'k=5', 'n=3')), 75),
        'large tree': (report('large', generate('kary', 'k=8', 'n=3')), 192),
        'grid': (report('grid', generate('torus', 'dims=10x10')), 100),
        'groups': (report('groups', generate('dragonfly')), 36),
        'chance': (report('chance', generate('random', 'switches=100', 'links=200', 'hosts=1', 'seed=2')), 100),
        'loop': (report('loop', topology('torus-4x4'), '-e', 'sssp'), 16),
    }
    for what, (page, n_switches) in pages.items():
        check_looks(browser, page, what, n_switches)
        check_print(browser, page, what)
    check_names_by_hand(browser, pages['tree'][0])
