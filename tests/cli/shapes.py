# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Random fabrics as users have them, by seed: trees first of all, and what is no tree.

Nothing here comes from src/topo: a generator of its own, so that no mistake is made twice.
"""
import itertools
import math
import random

from netfile import write_net


class Net:
    """Switches, end ports and links, written as a net file that ibsim and the command read. Hosts have the first ports of a
    switch, or the last ones."""
    hosts_last = False

    def __init__(self, title):
        self.title = title
        self.switches = []	# names
        self.links = []		# (switch, switch, rate)
        self.hosts = []		# (name, switch, rate), in the order in which LIDs are given

    def switch(self, name):
        self.switches.append(name)
        return len(self.switches) - 1

    def host(self, switch, name=None, rate=None):
        self.hosts.append((name or 'h%d' % len(self.hosts), switch, rate))

    def link(self, a, b, rate=None):
        self.links.append((a, b, rate))

    def grid(self, name, *dims, hosts=0):
        """{coordinates: switch}, with so many hosts each."""
        at = {place: self.switch(name % place) for place in itertools.product(*map(range, dims))}
        for s in at.values():
            for _ in range(hosts):
                self.host(s)
        return at

    def between_groups(self, groups, per_pair, ends):
        """Cables between every two groups, whose ends take turns. ends: of each group."""
        used = [0] * groups
        for pair in itertools.combinations(range(groups), 2):
            for _ in range(per_pair):
                self.link(*(ends[g][used[g] % len(ends[g])] for g in pair))
                for g in pair:
                    used[g] += 1

    def _connected(self, links):
        near = [[] for _ in self.switches]
        for a, b, _ in links:
            near[a].append(b)
            near[b].append(a)
        seen, stack = {0}, [0]
        while stack:
            for u in near[stack.pop()]:
                if u not in seen:
                    seen.add(u)
                    stack.append(u)
        return len(seen) == len(self.switches)

    def damage(self, rng, percent):
        """Takes so many percent of the links, but keeps the fabric connected and every leaf with two links."""
        n = int(len(self.links) * percent / 100)
        gone = 0
        for i in rng.sample(range(len(self.links)), len(self.links)):
            if gone == n:
                break
            left = self.links[:i] + [None] + self.links[i + 1:]
            kept = [l for l in left if l]
            if self._connected(kept):
                self.links = left
                gone += 1
        self.links = [l for l in self.links if l]
        return gone

    def cables(self):
        """(end, end, rate), an end is (name, port)."""
        used = [0] * len(self.switches)

        def end(node):
            if isinstance(node, str):
                return node, 1
            used[node] += 1
            return self.switches[node], used[node]

        cables = self.links + self.hosts if self.hosts_last else self.hosts + self.links
        return [(end(a), end(b), rate) for a, b, rate in cables]

    def write(self, path, **more):
        return write_net(path, self.cables(), self.switches, **more)


def _pgft(net, m, w, p):
    """Switches of levels 1..h by level; m, w, p from level 1 on. Returns levels."""
    h = len(m)
    levels = []
    for l in range(1, h + 1):
        above = math.prod(m[l:])
        inside = math.prod(w[:l])
        levels.append([[net.switch('s%d-%d-%d' % (l, a, b)) for b in range(inside)]
                       for a in range(above)])
    for l in range(1, h):
        lower, upper = levels[l - 1], levels[l]
        for a, row in enumerate(lower):
            for b, s in enumerate(row):
                for digit in range(w[l]):
                    for _ in range(p[l]):
                        net.link(s, upper[a // m[l]][b + digit * len(row)])
    return levels


def _shape(rng, large):
    """m, w, p of a random tree of 50 to 4,000 hosts, not always of full bandwidth."""
    while True:
        h = rng.choice([2, 2, 3])
        hosts = rng.randint(4, 24)
        if h == 2:
            leaves, spines, cables = rng.randint(4, 40), rng.randint(2, 16), rng.choice([1, 1, 2, 3])
            m, w, p = [hosts, leaves], [1, spines], [1, cables]
        else:
            m = [hosts, rng.randint(3, 14), rng.randint(2, 14)]
            w = [1, rng.randint(2, 10), rng.randint(1, 10)]
            p = [1, rng.choice([1, 1, 2]), rng.choice([1, 1, 2, 3])]
        n = math.prod(m)
        up = math.prod(w[1:2]) * p[1]
        if not 50 <= n <= (4000 if large else 600) or hosts + up > 64 or hosts > 4 * up:
            continue
        if h == 3 and (w[2] * p[2] > 3 * m[1] * p[1] or m[2] * p[2] > 64):
            continue
        return m, w, p


def tree(seed, large=False, damage=None):
    rng = random.Random('tree %d' % seed)
    m, w, p = _shape(rng, large)
    net = Net('')
    levels = _pgft(net, m, w, p)
    leaves = [row[0] for row in levels[0]]
    words = ['PGFT %s;%s;%s' % tuple(','.join(map(str, x)) for x in (m, w, p))]
    kinds = [k for k in ('uneven', 'rails', 'storage', 'service', 'speeds') if rng.random() < 0.3]
    if 'rails' in kinds and m[1] % 2:
        kinds.remove('rails')
    places = []
    for i, leaf in enumerate(leaves):
        n = m[0]
        if 'uneven' in kinds and rng.random() < 0.4:
            n = rng.randint(max(1, m[0] // 3), m[0])
        if 'storage' in kinds and i % m[1] == m[1] - 1:
            n = max(1, m[0] // 4)
        places.append([leaf] * n)
    if 'rails' in kinds:	# HCAs of one host on consecutive leaves
        rails = 2 if m[1] % 4 else 4
        for i in range(0, len(places), rails):
            for row in zip(*places[i:i + rails]):
                for s in row:
                    net.host(s)
    else:
        for row in places:
            for s in row:
                net.host(s)
    if 'service' in kinds:
        for s in range(len(net.switches)):
            net.host(s, 'sv%d' % s)
    mixed = 'speeds' in kinds
    if mixed:
        slow = {s for s in leaves if rng.random() < 0.3}
        net.links = [(a, b, '4xQDR' if a in slow else '4xEDR') for a, b, _ in net.links]
    more = random.Random('cables %d' % seed)	# its own, so that fabrics of earlier seeds stay
    if not mixed and more.random() < 0.15:	# newer spines beside older ones
        fast = {s for s in range(len(net.switches)) if s not in leaves and more.random() < 0.5}
        net.links = [(a, b, '4xHDR' if b in fast or a in fast else '4xEDR') for a, b, _ in net.links]
        kinds.append('fast spines')
    if more.random() < 0.2:		# some pairs have one cable more
        net.links += [l for l in dict.fromkeys(net.links) if more.random() < 0.15]
        kinds.append('uneven cables')
    percent = damage if damage is not None else rng.choice([0, 0, 1, 2, 3, 5])
    gone = net.damage(rng, percent)
    if gone:
        words.append('%d links missing' % gone)
    net.title = ', '.join(words + kinds)
    return net


def megafly(seed):
    """Dragonfly+: groups of leaves and spines, every spine of a group with cables to other groups."""
    rng = random.Random('megafly %d' % seed)
    leaves = rng.randint(3, 8)
    spines = rng.randint(2, leaves)
    ways = rng.randint(1, 4)		# global cables of a spine
    per_pair = rng.choice([1, 1, 2])	# cables between two groups
    groups = max(2, min(spines * ways // per_pair + 1, rng.randint(4, 20)))
    net = Net('Megafly, %d groups of %d leaves and %d spines' % (groups, leaves, spines))
    low, top = net.grid('l%d-%d', groups, leaves, hosts=rng.randint(2, 8)), net.grid('s%d-%d', groups, spines)
    for (g, _), a in low.items():
        for i in range(spines):
            net.link(a, top[g, i])
    net.between_groups(groups, per_pair, [[top[g, i] for i in range(spines)] for g in range(groups)])
    return net


def slimfly(seed):
    """McKay-Miller-Siran graphs for q = 4w + 1."""
    q, gen = (5, 13)[seed % 2] if seed else 5, 2
    steps = [{pow(gen, 2 * i + k, q) for i in range((q - 1) // 2)} for k in (0, 1)]
    hosts = 3 + seed % 3
    net = Net('Slim Fly q=%d, %d hosts a switch' % (q, hosts))
    at = net.grid('s%d-%d-%d', 2, q, q, hosts=hosts)
    for k, x, y in at:
        for z in range(y + 1, q):
            if (z - y) % q in steps[k]:
                net.link(at[k, x, y], at[k, x, z])
    for x, y, mm in itertools.product(range(q), repeat=3):
        net.link(at[0, x, y], at[1, mm, (y - mm * x) % q])
    return net


def jellyfish(seed):
    rng = random.Random('jellyfish %d' % seed)
    n, degree, hosts = rng.randint(16, 100), rng.randint(4, 10), rng.randint(2, 8)
    while True:
        stubs = [i for i in range(n) for _ in range(degree)]
        rng.shuffle(stubs)
        net = _graph('Jellyfish, %d switches of degree %d' % (n, degree), n,
                     [(a, b) for a, b in zip(stubs[::2], stubs[1::2]) if a != b], hosts)
        if net._connected(net.links):
            return net


def hyperx(seed):
    rng = random.Random('hyperx %d' % seed)
    a, b, hosts = rng.randint(3, 10), rng.randint(2, 8), rng.randint(2, 8)
    net = Net('HyperX %dx%d' % (a, b))
    at = net.grid('s%d-%d', a, b, hosts=hosts)
    for i, j in at:
        for k in range(i + 1, a):
            net.link(at[i, j], at[k, j])
        for k in range(j + 1, b):
            net.link(at[i, j], at[i, k])
    net.damage(rng, rng.choice([0, 0, 3]))
    return net


def dragonfly(seed):
    rng = random.Random('dragonfly %d' % seed)
    a, ways = rng.choice([(4, 2), (4, 2), (6, 3), (8, 2)])
    groups, hosts = rng.randint(4, a * ways + 1), rng.randint(2, 4)
    net = Net('dragonfly, %d groups of %d, %d global cables a switch' % (groups, a, ways))
    at = net.grid('s%d-%d', groups, a, hosts=hosts)
    for g, i in at:
        for k in range(i + 1, a):
            net.link(at[g, i], at[g, k])
    net.between_groups(groups, 1, [[at[g, i // ways] for i in range(a * ways)] for g in range(groups)])
    return net


def _graph(title, n, links, hosts):
    """n switches with as many hosts each, or as many as their place in the list says."""
    net = Net(title)
    for i in range(n):
        net.switch('s%d' % i)
    net.links = [(a, b, None) for a, b in links]
    for i in range(n):
        for _ in range(hosts if isinstance(hosts, int) else hosts[i]):
            net.host(i)
    return net


def _grown(rng, n, n_links):
    """A random tree, and further links between any two switches."""
    links = [(i, rng.randrange(i)) for i in range(1, n)]
    while len(links) < n_links:
        links.append(tuple(rng.sample(range(n), 2)))
    return links


def sparse(seed):
    """Random graphs, of mean degree 4 to 6."""
    rng = random.Random('sparse %d' % seed)
    n = rng.randint(24, 110)
    n_links, hosts = n * rng.randint(20, 30) // 10, rng.randint(2, 6)
    title = 'random, %d switches, %d links' % (n, n_links)
    return _graph(title, n, _grown(rng, n, n_links), hosts)


def small(seed):
    """Random graphs of a few switches, with hosts on some or all of them."""
    rng = random.Random('small %d' % seed)
    n, most = rng.randint(4, 14), rng.randint(1, 8)
    n_links = rng.randint(n, 3 * n)
    hosts = [rng.randint(0, most) for _ in range(n)] if rng.random() < 0.5 else [most] * n
    hosts[0] += 1
    hosts[-1] += 1
    title = 'random, %d switches, %d links, %d hosts' % (n, n_links, sum(hosts))
    return _graph(title, n, _grown(rng, n, n_links), hosts)


def _ring(n, first=0):
    return [(first + i, first + (i + 1) % n) for i in range(n)]


def _theta(*lengths):
    links, n = [], 2
    for length in lengths:
        row = [0, *range(n, n + length), 1]
        links += zip(row, row[1:])
        n += length
    return n, links


def weird(seed):
    """Wheels, thetas, Moebius ladders, rings of rings, rings with chords, bipartite graphs, in turn."""
    rng = random.Random('weird %d' % seed)
    hosts = rng.randint(2, 6)
    n, a, b, c = rng.randint(5, 12), rng.randint(2, 5), rng.randint(3, 6), rng.randint(2, 5)
    if seed % 6 == 0:
        return _graph('wheel of %d' % n, n + 1, _ring(n) + [(i, n) for i in range(n)], hosts)
    if seed % 6 == 1:
        return _graph('theta %d %d %d' % (a, b, c), *_theta(a, b, c), hosts)
    if seed % 6 == 2:
        links = _ring(2 * n) + [(i, i + n) for i in range(n)]
        return _graph('Moebius ladder of %d' % (2 * n), 2 * n, links, hosts)
    if seed % 6 == 3:
        links = [l for i in range(b) for l in _ring(b, i * b)]
        links += [(i * b, (i + 1) % b * b + 1) for i in range(b)]
        return _graph('%d rings of %d in a ring' % (b, b), b * b, links, hosts)
    if seed % 6 == 4:
        chords = [tuple(rng.sample(range(n), 2)) for _ in range(c)]
        return _graph('ring of %d, %d chords' % (n, c), n, _ring(n) + chords, hosts)
    return _graph('bipartite %d %d' % (a, b), a + b, [(i, a + k) for i in range(a) for k in range(b)], hosts)


def torus(seed):
    """Tori of two or three dimensions, whole or with cables missing."""
    rng = random.Random('torus %d' % seed)
    flat = rng.random() < 0.5
    dims = [rng.randint(3, 9), rng.randint(3, 8)] if flat else [rng.randint(3, 6) for _ in range(3)]
    at = list(itertools.product(*map(range, dims)))
    place = {x: i for i, x in enumerate(at)}
    links = {}
    for x in at:
        for k, n in enumerate(dims):
            y = x[:k] + ((x[k] + 1) % n,) + x[k + 1:]
            links[place[x], place[y]] = None
    net = _graph('', len(at), links, rng.randint(1, 4))
    gone = net.damage(rng, rng.choice([0, 2, 5]))
    net.title = 'torus %s, %d links missing' % ('x'.join(map(str, dims)), gone)
    return net


def twotrees(seed):
    """Two trees of leaves and spines; some cables join a switch of one to a switch of the other."""
    rng = random.Random('two trees %d' % seed)
    links, hosts, levels = [], [], []
    for _ in range(2):
        leaves, spines, n = rng.randint(3, 10), rng.randint(2, 5), rng.randint(3, 10)
        base = len(hosts)
        hosts += [n] * leaves + [0] * spines
        links += [(base + i, base + leaves + k) for i in range(leaves) for k in range(spines)]
        levels.append((range(base, base + leaves), range(base + leaves, base + leaves + spines)))
    cables, low = rng.randint(2, 8), rng.random() < 0.5
    for i in range(cables):
        row = [level[0 if low else 1] for level in levels]
        links.append((row[0][i % len(row[0])], row[1][i % len(row[1])]))
    title = 'two trees, %d cables between %s' % (cables, 'leaves' if low else 'spines')
    return _graph(title, len(hosts), links, hosts)


KINDS = {'tree': tree, 'megafly': megafly, 'slimfly': slimfly, 'jellyfish': jellyfish,
         'hyperx': hyperx, 'dragonfly': dragonfly, 'sparse': sparse, 'small': small, 'weird': weird, 'torus': torus, 'twotrees': twotrees}
