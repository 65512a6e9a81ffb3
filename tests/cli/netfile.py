# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Net files as tests read and change them, tables beside them, and random numbers; shared by all, and with nothing of the
project."""
import collections
import math
import re


MASK = (1 << 64) - 1


def read_net(path):
    """{(node, port): (node, port)}, {node: kind}; nodes are named by their description."""
    cables, kinds, names, node = [], {}, {}, None
    for line in open(path):
        m = re.match(r'(Switch|Hca|Ca|Rt)\s+\d+\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?', line)
        if m:
            node = m.group(2)
            names[node] = m.group(3) or node
            kinds[names[node]] = m.group(1)
            continue
        m = re.match(r'\[(\d+)\](?:\([^)]*\))?\s+"([^"]+)"\[(\d+)\]', line)
        if m:
            cables.append((node, int(m.group(1)), m.group(2), int(m.group(3))))
    return {(names[a], i): (names[b], j) for a, i, b, j in cables}, kinds


def write_net(path, cables, switches=None, n_ports=None, guids={}, lids={}):
    """cables: (end, end) or (end, end, rate or None), an end is (node, port); hosts are all that are no switches, which are
    called s.. if none are given."""
    ends = {}
    for a, b, *rate in cables:
        ends[a], ends[b] = (b, *rate), (a, *rate)
    ports = {node: [] for node in switches or sorted({node for node, _ in ends if node[0] == 's'})}
    n_switches = len(ports)
    for node, port in ends:
        ports.setdefault(node, []).append(port)
    with open(path, 'w', encoding='utf-8') as file:
        for i, (node, used) in enumerate(ports.items()):
            host = i >= n_switches
            if node in guids:
                file.write('%sguid=0x%x\n' % ('ca' if host else 'switch', guids[node]))
            head = ' # "%s" base port 0 lid %d lmc 0' % (node, lids[node]) if node in lids and not host else ''
            file.write('%s %d "%s"%s\n' % ('Ca' if host else 'Switch', 1 if host else n_ports or max(used, default=0), node, head))
            for port in sorted(used):
                (far, far_port), *rate = ends[node, port]
                lid = 'lid %d lmc 0 ' % lids[node] if node in lids and host else ''
                file.write('[%d] "%s"[%d]%s\n' % (port, far, far_port, ' # %s"x" lid 0 %s' % (lid, *rate) if any(rate) else ''))
            file.write('\n')
    return path


def strike_out(path, ends):
    """The net file without the cable that has these two ends."""
    node, lines = None, []
    for line in open(path):
        m = re.match(r'(?:Switch|Hca|Ca|Rt)\s+\d+\s+"([^"]+)"', line)
        node = m.group(1) if m else node
        m = re.match(r'\[(\d+)\]', line)
        if m and (node, int(m.group(1))) in ends:
            continue
        lines.append(line)
    return ''.join(lines)


def cables(path):
    """Both ends of every cable between switches."""
    ends, kinds = read_net(path)
    return sorted({tuple(sorted(c)) for c in ends.items() if all(kinds[node] == 'Switch' for node, _ in c)})


def renamed(path, to, name):
    """Writes the net file with other descriptions: name(is a switch?, id), None for the old one."""
    with open(path) as plain, open(to, 'w', encoding='latin-1') as made:
        for line in plain:
            m = re.match(r'(Hca|Ca|Switch)\s+\d+\s+"([^"]+)"', line)
            text = m and name(m[1] == 'Switch', m[2])
            made.write('%s\t\t# "%s"\n' % (m[0], text) if text else line)
    return to


class SplitMix:
    """The published generator (Steele, Lea, Flood 2014), bounded draws, Fisher and Yates."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        limit = MASK - MASK % n
        while True:
            x = self.next()
            if x < limit:
                return x % n

    def shuffle(self, items):
        for i in range(len(items), 1, -1):
            j = self.below(i)
            items[i - 1], items[j] = items[j], items[i - 1]


def read_lfts(path):
    """{switch: {lid: port}}, switches by ascending GUID."""
    tables, guids = {}, {}
    for line in open(path):
        m = re.match(r"Unicast lids .* guid (0x[0-9a-f]+) \('(.*)'\):", line)
        if m:
            table = tables.setdefault(m.group(2), {})
            guids[m.group(2)] = int(m.group(1), 16)
        elif line.startswith('0x'):
            lid, port = line.split()[:2]
            table[int(lid, 16)] = int(port)
    return {s: tables[s] for s in sorted(tables, key=guids.get)}


class Oracle:
    """A slow program that knows nothing but cables and dumps: packets are followed one by one."""

    def __init__(self, net, lfts):
        self.cables, self.kinds = read_net(net)
        self.tables = read_lfts(lfts)
        self.lids = {}		# (switch, port) of a CA -> LID
        for switch, table in self.tables.items():
            for lid, port in table.items():
                peer = self.cables.get((switch, port))
                if peer and self.kinds[peer[0]] in ('Ca', 'Hca'):
                    place = (switch, port)
                    self.lids[place] = min(lid, self.lids.get(place, lid))
        self.hosts = [(s, p) for s in self.tables for p in range(256) if (s, p) in self.lids]

    def path(self, source, target):
        """Every cable on the way, in its direction."""
        switch, lid, way = source[0], self.lids[target], [('from', source)]
        while True:
            port = self.tables[switch][lid]
            way.append((switch, port))
            if (switch, port) == target:
                return way
            switch = self.cables[switch, port][0]

    def flows(self, pairs):
        """How many pairs go over the busiest cable, and what each meets at worst."""
        ways = [self.path(a, b) for a, b in pairs]
        load = collections.Counter(channel for way in ways for channel in way)
        return max(load.values()), [max(load[c] for c in way) for way in ways]

    def one_run(self, phases, hosts):
        """Mean and sum of the hot spots, bandwidth, the worst, and pairs, of phases of ranks on these hosts."""
        hot, sum_bandwidth, n_pairs = [], 0.0, 0
        for phase in phases:
            if not phase:
                continue
            hsd, worst = self.flows([(hosts[a], hosts[b]) for a, b in phase])
            hot.append(hsd)
            n_pairs += len(phase)
            part = 0.0
            for congestion in sorted(set(worst)):
                part += worst.count(congestion) / congestion
            sum_bandwidth += part
        return sum(hot) / len(hot), sum(hot), sum_bandwidth / n_pairs, max(hot), n_pairs


def spread(values):
    """The mean, and 1.96 standard errors, summed in order."""
    total = squares = 0.0
    for x in values:
        total += x
    mean = total / len(values)
    for x in values:
        squares += (x - mean) * (x - mean)
    n = len(values)
    return mean, 1.96 * math.sqrt(squares / (n - 1.0) / n) if n > 1 else 0
