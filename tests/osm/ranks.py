# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""dmodk on partly populated trees: the flows of every stage of a shift, counted from what the switches hold, against what
no routing can go below and against stock ftree. Trees and hosts are drawn anew each time; OSR_SEED=N draws those of N again."""
import collections
import os
import random
import re

from judge import expect, generate, judge, scenario
from osmtest import Fabric, Opensm, osmroutes, wait_for
from restart import cache_of, kill, settled, start, stores

# m, w, p: as many cables up as down, fewer, and fewer on one level alone; ftree takes them where every leaf has hosts.
SHAPES = [((4, 6), (1, 4), (1, 1)), ((6, 8), (1, 3), (1, 2)), ((4, 4, 3), (1, 4, 4), (1, 1, 1)), ((4, 4, 4), (1, 2, 4), (1, 2, 2)),
          ((8, 6), (1, 4), (1, 1)), ((6, 6, 2), (1, 6, 2), (1, 1, 3)), ((4, 6, 3), (1, 4, 3), (1, 1, 1))]


class Draw:
    """A tree of which some hosts are there, chosen by `seed`; a multiple: so many that every sub-tree's cables divide it."""

    def __init__(self, workdir, seed, multiple, shape):
        self.seed, self.random = seed, random.Random(seed)
        m, w, p = shape
        net = generate(os.path.join(workdir, 'whole.net'), 'tree', *('%s=%s' % (name, ','.join(map(str, of)))
                                                                     for name, of in zip('mwp', shape)))
        with open(net) as file:
            self.text = file.read()
        self.every = re.findall(r'(?m)^Ca\t\d+ "(\w+)"', self.text)
        # (hosts of a sub-tree, its cables up), from below.
        self.levels, below, ways = [], 1, 1
        for level in range(1, len(m)):
            below, ways = below * m[level - 1], ways * w[level]
            self.levels.append((below, ways * p[level]))
        self.period = 1
        for _, cables in self.levels:
            self.period = next(n for n in range(self.period, 10000, self.period) if n % cables == 0)
        n = self.random.randrange(len(self.every) // 2, len(self.every))
        n = n - n % self.period or self.period if multiple else n - (n % self.period == 0)
        self.some = self.choose(self.every, n)
        self.net = os.path.join(workdir, 'some.net')

    def __str__(self):
        return 'OSR_SEED=%d, %d of %d hosts' % (self.seed, len(self.some), len(self.every))

    def choose(self, hosts, n):
        chosen = set(self.random.sample(hosts, n))
        return [host for host in hosts if host in chosen]

    def write(self):
        names = '|'.join(set(self.every) - set(self.some))
        text = re.sub(r'(?m)^Ca\t\d+ "(?:%s)".*\n(?:\[.*\n)*' % names, '', self.text)
        with open(self.net, 'w') as file:
            file.write(re.sub(r'(?m)^\[\d+\]\s*"(?:%s)".*\n' % names, '', text))
        return self.net

    def least(self, hosts, stage):
        """Flows out of a sub-tree, or into it, over its cables: the worst one."""
        place, least = [self.every.index(host) for host in hosts], 1
        for below, cables in self.levels:
            flows = collections.Counter()
            for a, b in zip(place, place[stage:] + place[:stage]):
                flows[a // below] += a // below != b // below
            least = max([least, *(-(-n // cables) for n in flows.values())])
        return least


def shift(tables, hosts):
    """Most flows on a cable between switches, in each stage of the shift of these hosts."""
    end = {e.name.split()[0]: e for e in tables.ends if e.host}
    ways = {(a, b): tables.way(end[a], end[b])[:-1] for a in hosts for b in hosts if a != b}
    return [max([1, *collections.Counter(cable for pair in zip(hosts, hosts[k:] + hosts[:k]) for cable in ways[pair]).values()])
            for k in range(1, len(hosts))]


def draws(workdir, n, multiple):
    first = int(os.environ.get('OSR_SEED', 0)) or random.SystemRandom().randrange(1, 1 << 30)
    for i in range(n):
        shape = random.Random(first + i).choice(SHAPES)
        yield Draw(workdir, first + i, multiple(i), shape)


def of_hosts(tables, hosts):
    """What switches hold for these hosts."""
    lids = sorted(e.lid for e in tables.ends if e.host and e.name.split()[0] in hosts)
    return {s.guid: [s.forward(lid) for lid in lids] for s in tables.switches}


def cable_of(tables, host):
    end = next(e for e in tables.ends if e.host and e.name.split()[0] == host)
    return tables.switches[end.switch].name, end.port


@scenario('ranks.subsets')
def subsets(workdir):
    """A multiple is at the bound in every stage. Other numbers are never above stock ftree in the mean, where it routes."""
    for draw in draws(workdir, 6, lambda i: i % 2 == 0):
        with Fabric(draw.write(), os.path.join(workdir, 'fabric')) as fabric:
            with Opensm(fabric, 'dmodk', plugin=True) as opensm:
                opensm.wait_up()
                got = shift(judge(fabric, opensm, ours='dmodk'), draw.some)
            least = [draw.least(draw.some, k) for k in range(1, len(draw.some))]
            if len(draw.some) % draw.period == 0:
                expect(got == least, '%s: %s, the bound is %s' % (draw, got, least))
                continue
            expect(all(a >= b for a, b in zip(got, least)), '%s: below the bound' % draw)
            with Opensm(fabric, 'ftree', name='stock') as stock:
                stock.wait_up()
                if stock.engine_used() == 'ftree':
                    its = shift(fabric.tables('lft'), draw.some)
                    expect(sum(got) <= sum(its), '%s: mean HSD %.3f, of ftree %.3f' % (
                        draw, sum(got) / len(got), sum(its) / len(its)))


@scenario('ranks.restart')
def restart(workdir):
    """A host is away when opensm starts again: nobody else's entries change, and all is as before when it is back. Without
    stored tables the others have new numbers."""
    changed = 0
    for draw in draws(workdir, 3, lambda i: True):
        cache = cache_of(workdir)
        with Fabric(draw.write(), os.path.join(workdir, 'fabric')) as fabric:
            with start(fabric, cache, 'before', 'dmodk') as opensm:
                opensm.wait_up()
                whole = judge(fabric, opensm, ours='dmodk')
                wait_for('the store to be written', lambda: settled(cache), 20)
                kill(opensm)
            # Not that of the subnet manager.
            away = draw.random.choice(draw.some[1:-1])
            others = [host for host in draw.some if host != away]
            fabric.console(fabric.unlink(*cable_of(whole, away)))
            with start(fabric, cache, 'after', 'dmodk') as opensm:
                opensm.wait_up()
                expect(of_hosts(judge(fabric, opensm, ours='dmodk'), others) == of_hosts(whole, others),
                       '%s: entries of others change when %s is away' % (draw, away))
                opensm.change(fabric.relink(*cable_of(whole, away)))
                back = judge(fabric, opensm, ours='dmodk')
                expect(of_hosts(back, draw.some) == of_hosts(whole, draw.some), '%s: the first entries are not back' % draw)
                got = shift(back, draw.some)
                expect(got == [draw.least(draw.some, k) for k in range(1, len(draw.some))], '%s: not at the bound' % draw)
            fabric.console(fabric.unlink(*cable_of(whole, away)))
            with start(fabric, cache, 'without', 'dmodk', 'store = no\n') as opensm:
                opensm.wait_up()
                changed += of_hosts(judge(fabric, opensm, ours='dmodk'), others) != of_hosts(whole, others)
    expect(changed, 'the same without stored tables: this says nothing about them')


@scenario('ranks.first')
def first(workdir):
    """The compute nodes of cn_guid_file are at the bound by themselves, whichever other hosts there are, and `order` says so of
    the tables that opensm stored."""
    worse = 0
    for draw in draws(workdir, 3, lambda i: True):
        compute, rest = draw.some, [host for host in draw.every if host not in draw.some]
        draw.some = [host for host in draw.every if host in compute or draw.random.random() < 0.5 or not rest]
        least = [draw.least(compute, k) for k in range(1, len(compute))]
        cache, listed = cache_of(workdir), os.path.join(workdir, 'compute-guids')
        with Fabric(draw.write(), os.path.join(workdir, 'fabric')) as fabric:
            with start(fabric, cache, 'plain', 'dmodk', 'store = no\n') as opensm:
                opensm.wait_up()
                tables = judge(fabric, opensm, ours='dmodk')
                worse += shift(tables, compute) != least
            with open(listed, 'w') as file:
                file.writelines('%s\n' % e.guid for e in tables.ends if e.host and e.name.split()[0] in compute)
            with start(fabric, cache, 'listed', 'dmodk', options={'cn_guid_file': listed}) as opensm:
                opensm.wait_up()
                got = shift(judge(fabric, opensm, ours='dmodk'), compute)
                expect(got == least, '%s: %d compute nodes have %s, the bound is %s' % (draw, len(compute), got, least))
                wait_for('the store to be written', lambda: settled(cache), 20)
                ordered = osmroutes('order', '--config=none', '--previous=' + stores(cache)[0], '--hosts=' + ','.join(compute), draw.net)
                expect([row['host'] for row in ordered['hosts']] == compute, '%s: %s' % (draw, ordered))
    expect(worse, 'the same without the list: this says nothing about it')
