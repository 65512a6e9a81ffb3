# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""--worst against programs that try everything: all permutations of the hosts of hundreds of small fabrics with random
tables, whole and broken; all routings of tiny ones against the bound; and values that are known: worst.py COMMAND [SEED]"""
import itertools
import math
import random
import re
import sys
from fractions import Fraction

from command import ask, at, generate, run
from shapes import Net

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
RATES = {'1xSDR': 2, '4xSDR': 8, '4xDDR': 16, '4xQDR': 32}


class Tried(Net):
    """A random fabric of n switches: .cable {(switch, port): (switch, port)}, .ends [(switch, port)] of the hosts, .rate of all."""

    def __init__(self, rng, n, n_links, n_hosts, rates=('4xSDR',)):
        super().__init__('')
        for i in range(n):
            self.switch('s%d' % i)
        for i in range(n_links):
            self.link(*(rng.randrange(i + 1), i + 1) if i < n - 1 else rng.sample(range(n), 2), rng.choice(rates))
        for _ in range(n_hosts):
            self.host(rng.randrange(n), rate=rng.choice(rates))
        self.lids = {name: lid for lid, name in enumerate(self.switches + [host[0] for host in self.hosts], 1)}
        self.cable, self.ends, self.rate = {}, [], {}
        for a, b, rate in self.cables():
            self.rate[a] = self.rate[b] = rate
            if a[0] in self.switches:
                self.cable[a], self.cable[b] = b, a
            else:
                self.ends.append(b)

    def trees(self, root):
        """All ways to send to a switch, as {switch: port}."""
        out = [[p for p in self.cable if p[0] == s] for s in self.switches if s != root]
        for choice in itertools.product(*out):
            tree = dict(choice)
            if all(self.walk(tree, s, root) is not None for s in self.switches):
                yield tree

    def random_tree(self, rng, root):
        tree, edge = {}, [c for c in self.cable.items() if c[1][0] == root]
        while edge:
            (s, p), _ = edge.pop(rng.randrange(len(edge)))
            if s != root and s not in tree:
                tree[s] = p
                edge += [c for c in self.cable.items() if c[1][0] == s]
        return tree

    def walk(self, tree, s, root):
        """Channels to the root, or None."""
        way = []
        while s != root:
            if (s, tree.get(s)) not in self.cable or len(way) > len(self.switches):
                return None
            way.append((s, tree[s]))
            s = self.cable[way[-1]][0]
        return way

    def users(self, trees):
        """{channel: pairs of hosts}; trees: of each host, with None or a wrong port at the root if it is broken."""
        users = {}
        for (b, (root, port)), tree in zip(enumerate(self.ends), trees):
            for a, (s, _) in enumerate(self.ends):
                for channel in (self.walk(tree, s, root) or []) if tree.get(root, port) == port else []:
                    users.setdefault(channel, set()).add((a, b))
        return users


def write_lfts(net, trees, path):
    with open(path, 'w') as file:
        for s in net.switches:
            file.write("Unicast lids [0-%d] of switch Lid %d guid 0x%016x ('%s'):\n" % (len(net.lids), net.lids[s], guid[s], s))
            for (host, _, _), (root, port), tree in zip(net.hosts, net.ends, trees):
                out = tree.get(s, port if s == root else None)
                if out is not None:
                    file.write('0x%04x %03d\n' % (net.lids[host], out))
            file.write('%d lids dumped\n' % len(trees))


def by_permutations(net, users):
    """Gb/s over a channel by its rate, at most, in any permutation; all rates are equal."""
    n, most = len(net.hosts), 0
    for images in itertools.permutations(range(n)):
        pairs = set(enumerate(images))
        most = max([most] + [len(pairs & crossing) for crossing in users.values()])
    return Fraction(most)


def by_units(net, users):
    """The same for any rates: each host is as many as its Gb/s have units, matched one by one."""
    rate = {p: RATES[word] for p, word in net.rate.items()}
    unit = math.gcd(*(rate[h] for h in net.ends))
    most = Fraction(0)

    def place(node, seen):
        for source in near[node]:
            if source not in seen:
                seen.add(source)
                if source not in taken or place(taken[source], seen):
                    taken[source] = node
                    return True
        return False

    for channel, pairs in users.items():
        copies = [[(h, k) for k in range(rate[p] // unit)] for h, p in enumerate(net.ends)]
        near, taken = {}, {}
        for a, b in pairs:
            for node in copies[b]:
                near.setdefault(node, []).extend(copies[a])
        flow = sum(place(node, set()) for node in near)
        most = max(most, Fraction(flow * unit, rate[channel]))
    return most


def share(load):
    return float(1 / load) if load > 1 else 1.0


def compare(net, trees, expected, what):
    path, tables, out = map(at, ('net', 'lfts', 'witness'))
    net.write(path, lids=net.lids)
    write_lfts(net, trees, tables)
    worst = ask('route', path, '--tables', tables, '--bisections=0', '--worst=' + out)['results'][0]['worst']
    if abs(worst['share'] - share(expected)) > 1e-12:
        sys.exit('%s: share %r, expected %r' % (what, worst['share'], share(expected)))
    if worst['share_bound'] < worst['share'] - 1e-12:
        sys.exit('%s: the bound %r is below %r' % (what, worst['share_bound'], worst['share']))
    with open(out) as file:
        pairs = re.findall(r'(?m)^lid:(\d+) lid:(\d+)\t', file.read())
    if len(pairs) != worst['flows']:
        sys.exit('%s: %d flows, and a witness of %d' % (what, worst['flows'], len(pairs)))
    if len(set(net.rate.values())) == 1 and pairs:
        if any(len(set(ends)) < len(pairs) for ends in zip(*pairs)):
            sys.exit('%s: the witness is no permutation' % what)
        # A route that does not arrive is no loop, so what the witness loads can be counted again.
        again = ask('route', path, '--tables', tables, '--bisections=0', '--traffic', out)
        if again['patterns'][0]['max_congestion'] < expected:
            sys.exit('%s: the witness brings %s flows, not %s' % (what, again['patterns'][0]['max_congestion'], expected))
    return worst


def spoil(net, rng, trees):
    """A hole, a wrong port at the destination, or a loop between two switches."""
    tree = trees[rng.randrange(len(trees))]
    s = rng.choice(net.switches)
    kind = rng.randrange(3)
    if kind == 0:
        tree.pop(s, None)
    else:
        tree[s] = rng.randint(1, sum(node == s for node, _ in net.rate))


def small(rng, i):
    n = rng.randint(2, 6)
    mixed = i % 3 == 2
    net = Tried(rng, n, rng.randint(n - 1, n + 4), rng.randint(2, 6 + 4 * mixed), list(RATES) if mixed else ('4xDDR',))
    trees = [net.random_tree(rng, root) for root, _ in net.ends]
    if i % 4 == 3:
        spoil(net, rng, trees)
    users = net.users(trees)
    expected = by_units(net, users) if mixed else by_permutations(net, users)
    if not mixed and expected != by_units(net, users):
        sys.exit('case %d: the two ways of this test differ' % i)
    compare(net, trees, expected, 'case %d' % i)


def all_routings(rng, i):
    """The least of the worst of all routings, and the bound; returns whether it is reached."""
    n = rng.randint(2, 4)
    net = Tried(rng, n, rng.randint(n - 1, n + 1), rng.randint(2, 5))
    choices = [list(net.trees(root)) for root, _ in net.ends]
    if math.prod(map(len, choices)) > 3000:
        return None
    least = min(by_units(net, net.users(trees)) for trees in itertools.product(*choices))
    trees = [choice[0] for choice in choices]
    worst = compare(net, trees, by_units(net, net.users(trees)), 'routing %d' % i)
    if worst['share_bound'] < share(least) - 1e-12:
        sys.exit('routings %d: the bound is a share of %r, and one leaves %r' % (i, worst['share_bound'], share(least)))
    return worst['share_bound'] == share(least)


KNOWN = [
    # A leaf has k hosts, and k up-links for all others: all k may send by one. D-Mod-K leaves it at that on every level.
    ('dmodk', ['kary', 'k=4', 'n=3'], 4, True),
    ('dfsssp', ['kary', 'k=4', 'n=2'], 3, True),
    ('dfsssp', ['kary', 'k=4', 'n=3'], 4, True),
    # Minimal routes of diameter 2: 2 p (Besta, Hoefler: Slim Fly, SC 2014).
    ('sssp', ['slimfly', 'q=5', 'p=4'], 8, False),
    ('dfsssp', ['slimfly', 'q=5', 'p=4'], 8, False),
    # Minimal routes of a dragonfly send all a p hosts of a group over one cable (Kim, Dally, Scott, Abts, ISCA 2008): here
    # a group is one switch, so no shortest route takes two of these cables, and this is all.
    ('sssp', ['dragonfly', 'a=1', 'h=4', 'p=3'], 3, True),
    ('dfsssp', ['dragonfly', 'a=1', 'h=4', 'p=3'], 3, True),
    # Shortest routes on a ring of seven go no further than three cables: three sources to three destinations.
    ('sssp', ['torus', 'dims=7', 'hosts=1'], 3, False),
]


for engine, words, flows, tight in KNOWN:
    worst = ask('route', generate(*words), '-e', engine, '--worst')['results'][0]['worst']
    if worst['flows'] != flows or worst['share'] != 1 / flows or (worst['share_bound'] == 1 / flows) < tight:
        sys.exit('%s by %s: %s, and %d flows are known' % (' '.join(words), engine, worst, flows))
# One cable from a group of a switches with p hosts each to the next: a p, and shortest ways over two such cables.
dragonfly = generate('dragonfly', 'a=4', 'h=2', 'p=2')
flows = ask('route', dragonfly, '-e', 'sssp', '--worst')['results'][0]['worst']['flows']
if flows < 8:
    sys.exit('dragonfly: %d flows, and 8 are known' % flows)
# Without an engine it is the default one.
if 'worst' not in ask('route', dragonfly, '--worst')['results'][0]:
    sys.exit('nothing is said of the default engine')

rng = random.Random(SEED)
# What GUIDs the command gives switches that have none in the file, by their LIDs.
net = Tried(rng, 6, 6, 2)
net.write(at('net'), lids=net.lids)
run('route', at('net'), '--dump', at('dump'))
with open(at('dump', 'opensm-lfts.dump')) as file:
    guid = {name: int(number, 16) for number, name in re.findall(r" guid (0x[0-9a-f]+) \('(.*)'\)", file.read())}
for i in range(300):
    small(rng, i)
reached = [all_routings(rng, i) for i in range(80)]
print('300 fabrics: the worst permutation as by trying all; %d fabrics: the bound holds for all their routings, and is reached on %d'
      % (sum(r is not None for r in reached), sum(map(bool, reached))))
