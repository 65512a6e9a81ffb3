# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The page of `osmroutes report`: what it says, that it stands alone, and what is red. What the page draws is looked
at where there is node, which runs its script without a browser; the figures in it are looked at everywhere."""
import html.parser
import json
import os
import pty
import re
import shutil
import subprocess

from command import COMMAND, at, generate, run, topology
from shapes import Net


class Page(html.parser.HTMLParser):
    """Tags must close in order; collects what the tests ask for."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells = [], {}, []
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
        if self.open and self.open[-1] == 'td':
            self.cells.append(data)


def figures_of(text):
    return json.loads(re.search(r'^const DATA = (\{.*?^\});$', text, re.M | re.S)[1])


def draw(text):
    """What a browser makes of the page, and what each figure says of all that one can point at; None without node."""
    if not shutil.which('node'):
        return None, None
    script = re.search(r'<script>(.*)</script>', text, re.S)[1]
    done = subprocess.run(['node', '-'], stdout=subprocess.PIPE, text=True, check=True, input="""
        const document = { body: {}, documentElement: { clientWidth: 1000 }, addEventListener() {} }, addEventListener = () => {};
        %s
        const all = p => [...Array(p.items ? p.items.length : p.n).keys()].map(i => p.say(i));
        console.log(JSON.stringify([document.body.innerHTML, picks.map(all)]));""" % script)
    return json.loads(done.stdout)


def number(text):
    return int(text.replace(',', ''))


def check_page(net, *options, code=0):
    """The text of the page, what it draws, and that parsed; the last two None without node."""
    out = at('page.html')
    run('report', net, '--html', out, *options, code=code)
    with open(out) as file:
        text = file.read()
    assert not re.search(r'<script\s|url\(|@import|https?:|\b(?:src|href|fetch|import|XMLHttpRequest)\b', text.split('const DATA')[0]), \
        'the page needs the network'
    figures = json.loads(run('route', net, '--json', *options, code=code).stdout)
    data, result = figures_of(text), figures['results'][0]
    assert {k: data['results'][0][k] for k in ('efi', 'digest', 'verdict')} == {k: result[k] for k in ('efi', 'digest', 'verdict')}
    assert data['hops'] == figures['hops'] and len(data['places']) == figures['switches']
    assert 2 * len(data['cables']) == figures['channels']
    loads = [c[key] for c in data['loads'] for key in ('routes', 'routes_back') if c['tables'] == result['tables']]
    assert [c['cable'] for c in data['loads']] == list(range(len(data['cables']))) * len(data['results'])
    assert max(loads) == result['efi'] and sum(loads) == sum(h['hops'] * h['routes'] for h in figures['hops'])
    lanes, ideal = sum(h['routes'] for h in figures['hops'] if h['hops']), result['efi_perfect']
    assert ideal == sum(loads) / len(loads) or (ideal < sum(loads) / len(loads) and result['routes_longer'])
    assert abs(result['sigma'] - (sum((ideal - load) ** 4 for load in loads) / len(loads)) ** 0.25) < 1e-9
    assert sum(lane['routes'] for lane in data['lanes']) in (0, lanes)
    check_ways(data, max(loads))
    drawn, said = draw(text)
    if drawn is None:
        return text, None, None
    page = Page(drawn)
    cell = page.cells.index('edge forwarding index: routes on the busiest channel')
    assert number(page.cells[cell + 1]) == result['efi'], (page.cells[cell + 1], result['efi'])
    assert re.search(r': %s at most, %s in all' % tuple(map('{:,}'.format, (max(loads), sum(loads)))), drawn)
    # Every switch, channel, pair of leaves and length of routes says its name and number.
    switches, channels, pairs, *_, lengths = said
    degree, names = {}, {}
    for cable in data['cables']:
        for end in ('from', 'to'):
            degree[cable[end]] = degree.get(cable[end], 0) + 1
    if figures['switches'] <= 100:
        assert page.tags['circle'] == figures['switches']
        assert sorted(int(re.search(r'(\d+) cables? to switches', t)[1]) for t in switches[:figures['switches']]) == \
            sorted(degree.get(v, 0) for v in range(figures['switches']))
    told = [number(re.search(r': ([\d,]+) routes?$', t)[1]) for t in channels]
    assert told == sorted(loads, reverse=True)
    hops = sum(h['routes'] for h in figures['hops'])
    assert sum(number(re.search(r': ([\d,]+) route', t)[1]) for t in lengths) == hops
    assert '{:,} routes between hosts in all.'.format(hops) in drawn
    for t in pairs:
        names.setdefault(re.match('from (.*) to ', t)[1], []).append(t)
    assert len({len(row) for row in names.values()}) == 1 and all(sum('within a switch' in t for t in row) == 1 for row in names.values())
    return text, drawn, page


def check_ways(data, efi):
    """A number for each pair of two switches with hosts that have a route, none above the busiest channel."""
    ends = [i for i, place in enumerate(data['places']) if place['hosts']]
    rows = {way['from']: way['routes'].split(',') for way in data['ways'] if way['tables'] == data['results'][0]['tables']}
    assert list(rows) == ends, (list(rows), ends)
    for leaf, row in rows.items():
        assert len(row) == len(ends) and [ends[i] for i, value in enumerate(row) if not value] == [leaf]
        assert all(int(value) <= efi for value in row if value)


def names_in(drawn):
    return sorted(re.findall(r'<text class="name"[^>]*>([^<]+)</text>', drawn))


def check_names(wrap):
    """What all names share is left out, and said; what is left stays different."""
    with open(topology('tree-3')) as file:
        text = file.read()
    switches = re.findall(r'^Switch[^\n]*?"([^"]+)"', text, re.M)
    for name in switches:
        text = text.replace('"%s"' % name, '"%s"' % (wrap % name))
    drawn = draw(run('report', '-', input=text, code=0).stdout)[0]
    if drawn:
        assert names_in(drawn) == sorted(switches), names_in(drawn)
        assert all('&#8220;%s&#8221;' % part in drawn for part in wrap.split('%s') if part)


def check_colours():
    """Sixty switches with sixty cables: some cable is the only path for many, and red. A balanced tree is calm. All
    colours in use are there, and those of dark mode as well."""
    text, calm, _ = check_page(topology('tree-3'))
    light, dark = text.split('</style>')[0].split('@media screen and (prefers-color-scheme:dark)')
    names = [set(re.findall(r'(--\w+):', part)) for part in (light, dark)]
    assert names[0] == names[1] >= set(re.findall(r'var\((--\w+)\)', text)), names
    assert re.search(r'^\.h5 { stroke: var\(--h5\)', text, re.M)
    if not calm:
        return
    assert not re.search(r'class="[hs][345]"', calm), 'a balanced tree is red'
    scarce = run('generate', 'random', 'switches=60', 'links=60', 'hosts=1', 'seed=2', code=0).stdout
    page = draw(run('report', '-', input=scarce, code=0).stdout)[0]
    assert page.count('class="cable h5"') in range(1, 6), 'of the cables the busiest are red'


def check_neck():
    """Two halves of 6 hosts each, joined by one cable: 6 times 6 routes cross it whatever the routing is, and one more
    cable beside it halves that. Every way between the halves meets it."""
    net = Net('neck')
    left, right = [[net.switch('%s-%d' % (side, i)) for i in range(2)] for side in ('left', 'right')]
    for a, b in [left] * 3 + [right] * 3 + [(left[1], right[0])]:
        net.link(a, b)
    for s in (left + right) * 3:
        net.host(s)
    net.write(at('neck.net'), n_ports=9)
    text, drawn, page = check_page(at('neck.net'))
    data = figures_of(text)
    side = [place['name'].split('-')[0] for place in data['places']]
    ends = [data['places'][data['gain'][0][key]]['name'] for key in ('from', 'to')]
    assert data['results'][0]['efi_bound'] == 36 and data['gain'][0]['efi'] == 18 and sorted(ends) == ['left-1', 'right-0'], data['gain']
    for way in data['ways']:
        assert [value == '36' for value in way['routes'].split(',')] == [s != side[way['from']] for s in side], way
    if not drawn:
        return
    cell = page.cells.index('least possible: no routing has less on its busiest channel')
    assert page.cells[cell + 1] == '36', page.cells[cell + 1]
    assert 'No routing is better: this cable is a bottleneck' in drawn and 'osmroutes route -e' not in drawn
    assert 'One more cable beside it would help: 18 for 36 routes on the busiest channel; then the next limit' in drawn


_, drawn, page = check_page(topology('cluster-192'))
if drawn:
    assert 'free of deadlock on the SLs of path records: proven' in drawn and 'class="cable' in drawn
check_page(topology('tree-3'))
text, drawn, _ = check_page(topology('torus-4x4'), '-e', 'sssp', code=1)
why = {a['question']: a['why'] for a in figures_of(text)['answers'] if a['answer'] == 'refuted'}['one_way']
size = int(re.match(r'credit loop of (\d+) channels', why)[1])
assert size == len(figures_of(text)['loops']) > 1
if drawn:
    assert 'free of deadlock on the SLs of path records: refuted (credit loop of' in drawn
    assert 'senders may use any SL' not in drawn
    # The loop is drawn, closed, along cables; and the advice is about it, not about load.
    loop = re.findall(r'class="loop" d="M(\S+ \S+)L(\S+ \S+)"', drawn)
    assert len(loop) == size and sorted(x[0] for x in loop) == sorted(x[1] for x in loop), loop
    assert re.search(r'What to do:</b> these tables can deadlock', drawn)
# Longer routes are a price, no fault; every switch has its name on the picture.
text, drawn, page = check_page(topology('ring-5'), '--vls=1')
if drawn:
    assert re.search(r'class="price">\d+ of \d+ routes are longer', drawn) and not re.search(r'class="refuted">\d', drawn)
    with open(topology('ring-5')) as file:
        switches = re.findall(r'^Switch[^\n]*?"([^"]+)"', file.read(), re.M)
    assert names_in(drawn) == sorted(switches), (names_in(drawn), switches)
# Every kind of place: coordinates, groups, a circle.
for kind, words in (('torus', 'stands at its coordinates'), ('dragonfly', 'groups of switches that are joined'),
                    ('random', 'No tree, grid or groups')):
    drawn = check_page(generate(kind))[1]
    assert not drawn or words in drawn, kind
check_neck()
for wrap in ("MF0;%s:MQM8700/U1", "rack %s"):
    check_names(wrap)

# Names are data: one that looks like a tag stays text.
with open(topology('tree-2')) as file:
    net = file.read()
name = re.search(r'^Switch[^\n]*?"([^"]+)"', net, re.M).group(1)
evil = net.replace('"%s"' % name, '"<script>alert(1)</script>"')
out = run('report', '-', input=evil, code=0).stdout
assert out.count('<script') == 1 and any('<script>' in x['name'] for x in figures_of(out)['places'])
assert '<script' not in (draw(out)[0] or '')

# Beside other tables: both columns are what route says of each, the default engine first.
out = at('pair.html')
words = [topology('cluster-192'), '-e', 'dfsssp', '-e', 'sssp', '--bisections=10']
said = json.loads(run('report', *words, '--json', '--html', out, code=1).stdout)
with open(out) as file:
    text = file.read()
assert figures_of(text) == said
drawn = draw(text)[0]
for what, key in (('edge forwarding index: routes on the busiest channel', 'efi'), ('verdict between hosts', 'verdict'),
                  ('routes longer than minimal', 'routes_longer'), ('virtual lanes used', 'vls')) if drawn else ():
    cells = Page(drawn).cells
    cell = cells.index(what)
    assert cells[cell + 1:cell + 3] == [str(r[key]) for r in said['results']], (what, cells[cell:cell + 3])
bad = run('report', topology('tree-2'), '--html', '/nowhere/page.html', code=2).stderr
assert '/nowhere/page.html' in bad and bad.count('\n') == 1, bad
run('report', topology('tree-2'), '--json', code=2)
run('report', topology('tree-2'), '--traffic=x', code=2)
with open('/dev/full', 'w') as full:
    done = subprocess.run([COMMAND, 'report', topology('tree-2')], stdout=full, stderr=subprocess.PIPE)
assert done.returncode == 2, done.returncode
master, terminal = pty.openpty()
done = subprocess.run([COMMAND, 'report', topology('tree-2')], stdout=terminal, stderr=subprocess.PIPE, text=True)
assert done.returncode == 2 and '--html=FILE' in done.stderr, done
os.close(terminal)
os.close(master)
check_colours()
