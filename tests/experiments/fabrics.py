# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Fabrics of the papers: most come from `osmroutes generate`; here is what that does not make."""
import math
import re

# Domke 2011, table I: end points, XGFT(h; m; w), Kautz(b, n), k-ary n-tree. All of switches; the
# end points are spread over those at the bottom (all, in a Kautz graph).
TABLE_I = [
    (64, ([6], [3]), (2, 2), (6, 2)),
    (128, ([10], [5]), (2, 2), (10, 2)),
    (256, ([16], [8]), (2, 3), (16, 2)),
    (512, ([6, 6], [3, 3]), (3, 3), (6, 3)),
    (1024, ([10, 10], [5, 5]), (3, 3), (10, 3)),
    (2048, ([14, 14], [7, 7]), (4, 3), (14, 3)),
    (4096, ([18, 18], [9, 9]), (6, 3), (18, 3)),
]


def _tree(m, w, hosts):
    per_leaf = -(-hosts // math.prod(m))
    join = lambda *parts: ','.join(str(x) for part in parts for x in part)	# noqa: E731
    return ['tree', 'm=' + join([per_leaf], m), 'w=' + join([1], w)]


def xgft(hosts, m, w):
    """Words for `osmroutes generate`; a few hosts too many, see keep_hosts()."""
    return _tree(m, w, hosts)


def kary(hosts, k, n):
    """k-ary n-tree: n levels of k^(n-1) switches."""
    return _tree([k] * (n - 1), [k] * (n - 1), hosts)


def kautz(hosts, b, n):
    switches = (b + 1) * b ** (n - 1)
    return ['kautz', 'b=%d' % b, 'n=%d' % n, 'hosts=%d' % -(-hosts // switches)]


def keep_hosts(text, n):
    """Takes hosts out of a net file until n are left, evenly: of every switch the last ones."""
    blocks, home, by_switch = text.split('\n\n'), {}, {}
    for block in blocks:
        switch = re.search(r'^Switch\s+\d+\s+"([^"]+)"', block, re.M)
        home.update((peer, switch[1]) for peer in re.findall(r'^\[\d+\]\s+"([^"]+)"', block, re.M) if switch)
    # Hosts are numbered block by block, so those of one switch follow each other.
    hosts = [m and m[1] for m in (re.match(r'(?:Ca|Hca)\s+\d+\s+"([^"]+)"', block) for block in blocks)]
    for name in filter(None, hosts):
        by_switch.setdefault(home[name], []).append(name)
    rows, surplus = list(by_switch.values()), sum(map(bool, hosts)) - n
    gone = {rows[i * len(rows) // surplus].pop() for i in range(surplus)}
    lines = '\n\n'.join(block for block, name in zip(blocks, hosts) if name not in gone).split('\n')
    return '\n'.join(l for l in lines if not (l.startswith('[') and re.search(r'"([^"]+)"', l)[1] in gone))


class Net:
    """A net file, cable by cable. Ports are given out in the order of the calls."""

    def __init__(self):
        self.kinds, self.lines = {}, {}

    def node(self, name, kind='Switch', ports=24):
        self.kinds[name] = (kind, ports)
        self.lines[name] = []
        return name

    def cable(self, a, b):
        i, j = len(self.lines[a]) + 1, len(self.lines[b]) + 1
        self.lines[a].append('[%d]\t"%s"[%d]' % (i, b, j))
        self.lines[b].append('[%d]\t"%s"[%d]' % (j, a, i))

    def free(self, name):
        return self.kinds[name][1] - len(self.lines[name])

    def text(self):
        return '\n'.join('%s\t%d "%s"\n%s\n' % (self.kinds[n] + (n, '\n'.join(lines)))
                         for n, lines in self.lines.items())


def big_switch(net, name, leaves):
    """A large switch as it was built then: 24-port chips, 12 ports of a leaf chip outside, and
    leaves / 2 spine chips; returns the leaf chips. 288 ports have 24 leaf chips, 144 have 12."""
    spines = [net.node('%s-spine-%02d' % (name, i)) for i in range(leaves // 2)]
    chips = [net.node('%s-leaf-%02d' % (name, i)) for i in range(leaves)]
    for chip in chips:
        for k in range(12):
            net.cable(chip, spines[k % len(spines)])
    return chips


def _attach(net, chips, n):
    """n hosts, one after the other on the chip with the most free ports."""
    for i in range(n):
        chip = max(chips, key=net.free)
        net.cable(chip, net.node('host-%03d' % i, 'Ca', 1))


def odin():
    """128 nodes on one 144-port switch."""
    net = Net()
    _attach(net, big_switch(net, 'odin', 12), 128)
    return net.text()


def deimos(bundles):
    """724 nodes on three 288-port switches; bundles: [(switch, switch, cables)], the cables spread
    evenly over the leaf chips of both."""
    net = Net()
    switches = [big_switch(net, 'switch-%d' % i, 24) for i in range(3)]
    for a, b, n in bundles:
        for _ in range(n):
            net.cable(max(switches[a], key=net.free), max(switches[b], key=net.free))
    _attach(net, sum(switches, []), 724)
    return net.text()


DEIMOS_CHAIN = [(0, 1, 30), (1, 2, 30)]
DEIMOS_TRIANGLE = [(0, 1, 10), (1, 2, 10), (2, 0, 10)]
