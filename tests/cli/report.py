# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The HTML page of `osmroutes report`: what it says, that it stands alone, and what is red.

    report.py OSMROUTES WORKDIR
"""
import html.parser
import json
import os
import pty
import re
import subprocess
import sys

OSMROUTES, WORKDIR = sys.argv[1:3]


def run(*words, code=0, stdin=None):
    done = subprocess.run([OSMROUTES] + list(words), input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done


class Page(html.parser.HTMLParser):
    """Tags must close in order; collects what the tests ask for."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.titles, self.cells = [], {}, [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        names = dict(attrs)
        assert not {'src', 'href', 'onclick', 'onload'} & set(names), attrs
        if tag not in ('meta', 'br'):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == 'title':
            self.titles.append(data)
        if self.open and self.open[-1] == 'td':
            self.cells.append(data)


def sums(page, unit):
    return sum(int(m.group(1)) for t in page.titles
               for m in [re.fullmatch(r'[^:]*: (\d+) ' + unit, t)] if m)


def check_page(net, *options, code=0):
    out = os.path.join(WORKDIR, 'page.html')
    run('report', net, '--html', out, *options, code=code)
    with open(out) as file:
        text = file.read()
    assert not re.search(r'<script|url\(|@import|https?:', text), 'the page needs the network'
    page = Page(text)
    figures = json.loads(run('route', net, '--json', *options, code=code).stdout)
    result = figures['results'][0]
    cells = page.cells
    at = cells.index('edge forwarding index: routes on the busiest channel')
    assert int(cells[at + 1]) == result['efi'], (cells[at + 1], result['efi'])
    assert sums(page, 'channels') == figures['channels'], 'the histogram loses channels'
    hops = sum(h['routes'] for h in figures['hops'])
    lanes = sum(h['routes'] for h in figures['hops'] if h['hops'])
    drawn = sums(page, 'routes between hosts')
    assert drawn in (hops, hops + lanes), (drawn, hops, lanes)
    assert page.tags.get('circle') == figures['switches']
    return text, page


def check_colours():
    """Sixty switches with sixty cables: some cable is the only path for many, and red. A balanced tree is calm. All
    colours in use are there, and those of dark mode as well."""
    calm, _ = check_page('topologies/tree-3.net')
    assert not re.search(r'class="[hs][345]"', calm), 'a balanced tree is red'
    scarce = run('generate', 'random', 'switches=60', 'links=60', 'hosts=1', 'seed=2').stdout
    page = run('report', '-', stdin=scarce).stdout
    assert page.count('class="h5"') in range(1, 6), 'of the cables the busiest are red'
    assert re.search(r'^\.h5 { stroke: var\(--h5\)', page, re.M)
    light, dark = page.split('</style>')[0].split('@media(prefers-color-scheme:dark)')
    names = [set(re.findall(r'(--\w+):', text)) for text in (light, dark)]
    assert names[0] == names[1] >= set(re.findall(r'var\((--\w+)\)', page)), names


def check_neck():
    """Two halves of 6 hosts each, joined by one cable: 6 times 6 routes cross it whatever the routing is."""
    cables = [('left-0', 'left-1')] * 3 + [('right-0', 'right-1')] * 3 + [('left-1', 'right-0')]
    cables += [(s, 'h-%s-%d' % (s, k)) for s in ('left-0', 'left-1', 'right-0', 'right-1') for k in range(3)]
    ports = {}
    for i, cable in enumerate(cables):
        for end, far in (cable, cable[::-1]):
            ports.setdefault(end, []).append((i, far))
    net = os.path.join(WORKDIR, 'neck.net')
    with open(net, 'w') as file:
        for node, row in ports.items():
            file.write('%s %d "%s"\n' % ('Hca' if node.startswith('h-') else 'Switch', len(row), node))
            for k, (i, far) in enumerate(row):
                file.write('[%d] "%s"[%d]\n' % (k + 1, far, [j for j, _ in ports[far]].index(i) + 1))
            file.write('\n')
    text, page = check_page(net)
    cell = page.cells.index('least possible: no routing has less on its busiest channel')
    assert page.cells[cell + 1] == '36', page.cells[cell + 1]
    assert 'No routing is better: this cable is the bottleneck' in text and 'osmroutes route' not in text


def main():
    os.makedirs(WORKDIR, exist_ok=True)
    text, page = check_page('topologies/cluster-192.net')
    assert 'free of deadlock on the SLs of path records: proven' in text and 'line' in page.tags
    check_page('topologies/tree-3.net')
    text, _ = check_page('topologies/torus-4x4.net', '-e', 'sssp', code=1)
    assert 'free of deadlock on the SLs of path records: refuted (credit loop of' in text
    assert 'senders may use any SL' not in text
    # The loop is drawn, closed, along cables; and the advice is about it, not about load.
    size = int(re.search(r'refuted \(credit loop of (\d+) channels', text)[1])
    loop = re.findall(r'class="loop" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', text)
    assert len(loop) == size > 1 and sorted(l[:2] for l in loop) == sorted(l[2:] for l in loop), loop
    assert re.search(r'What to do:</b> these tables can deadlock', text)
    # Longer routes are a price, no fault; every switch has its name on the picture.
    text, page = check_page('topologies/ring-5.net', '--vls=1')
    assert re.search(r'class="price">\d+ of \d+ routes are longer', text) and not re.search(r'class="bad">\d', text)
    with open('topologies/ring-5.net') as file:
        switches = re.findall(r'^Switch[^\n]*?"([^"]+)"', file.read(), re.M)
    assert sorted(re.findall(r'<text class="name"[^>]*>([^<]+)</text>', text)) == sorted(switches)
    check_neck()
    assert '<path' not in text, 'arcs are for cables within a row of a tree'

    # Names are data: one that looks like a tag stays text.
    with open('topologies/tree-2.net') as file:
        net = file.read()
    name = re.search(r'^Switch[^\n]*?"([^"]+)"', net, re.M).group(1)
    evil = net.replace('"%s"' % name, '"<script>alert(1)</script>"')
    out = run('report', '-', stdin=evil, code=0).stdout
    assert '<script' not in out

    # Beside other tables: both columns are what route says of each, the default engine first.
    out = os.path.join(WORKDIR, 'pair.html')
    words = ['topologies/cluster-192.net', '-e', 'dfsssp', '-e', 'sssp', '--bisections=10']
    run('report', *words, '--html', out, code=0)
    with open(out) as file:
        cells = Page(file.read()).cells
    results = json.loads(run('route', *words, '--json', code=1).stdout)['results']
    for what, key in (('edge forwarding index: routes on the busiest channel', 'efi'),
                      ('routes longer than minimal', 'routes_longer'), ('virtual lanes used', 'vls'), ('verdict', 'verdict')):
        at = cells.index(what)
        assert cells[at + 1:at + 3] == [str(r[key]) for r in results], (what, cells[at:at + 3], results)
    run('report', *words, '-e', 'dmodk', code=2)
    run('report', 'topologies/tree-2.net', '--traffic=x', code=2)
    bad = run('report', 'topologies/tree-2.net', '--html', '/nowhere/page.html', code=2).stderr
    assert '/nowhere/page.html' in bad and bad.count('\n') == 1, bad
    with open('/dev/full', 'w') as full:
        done = subprocess.run([OSMROUTES, 'report', 'topologies/tree-2.net'], stdout=full,
                              stderr=subprocess.PIPE)
    assert done.returncode == 2, done.returncode
    master, terminal = pty.openpty()
    done = subprocess.run([OSMROUTES, 'report', 'topologies/tree-2.net'], stdout=terminal, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and '--html FILE' in done.stderr, done
    os.close(terminal)
    os.close(master)
    check_colours()


main()
