# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes order --hosts`: the hosts of a job and their ranks, in the order of the tree. Where the command says that no
two hosts' flows of a shift meet, every stage is followed through the tables of dmodk, cable by cable; where the hosts
break the rule it must not say so."""
import collections
import itertools
import math
import random
import re

from command import at, generate, run
from netfile import Oracle

# Trees, and how many consecutive indices use every cable up once: w_1 .. w_h p_h, the same on every level below the
# top. Where the top has parallel cables the paper's w_1 .. w_h is too little.
TREES = [(('m=4,4', 'w=1,4', 'p=1,1'), 4), (('m=4,4', 'w=1,2', 'p=1,2'), 4), (('m=3,3,6', 'w=1,3,3', 'p=1,1,1'), 9),
         (('m=4,4,4', 'w=1,4,2', 'p=1,1,2'), 16), (('m=2,2,4', 'w=1,2,2', 'p=1,1,1'), 4)]


def order(*words, code=0):
    done = run('order', *words, code=code)
    return done.stdout, done.stderr


def places(text):
    """[(host, ranks)] of the CSV of an order."""
    rows = [line.split(',') for line in text.splitlines()[1:]]
    return [(row[1], int(row[6])) for row in rows]


def job(net, hosts, *words):
    """[(host, ranks)] of an order, and whether it is said to be free of contention."""
    out, said = order('--csv', '--hosts=' + ','.join(hosts), *words, net)
    assert ('no two hosts\' flows of a shift meet' in said) != ('shifts may meet on links' in said), said
    return places(out), 'no two' in said


class Shift(Oracle):
    def __init__(self, net, *words):
        run('route', net, '-e', 'dmodk', '--dump', at('dump'), *words, code=0)
        super().__init__(net, at('dump', 'opensm-lfts.dump'))
        place = {self.cables[h][0]: h for h in self.hosts}
        self.ways = {(a, b): self.path(place[a], place[b])[1:-1] for a, b in itertools.permutations(place, 2)}

    def worst(self, order):
        """Most flows on a link between switches, over all stages of the shift of these ranks."""
        ranks, worst = [host for host, n in order for _ in range(n)], 0
        for stage in range(1, len(ranks)):
            pairs = zip(ranks, ranks[stage:] + ranks[:stage])
            load = collections.Counter(channel for pair in pairs for channel in self.ways.get(pair, ()))
            worst = max([worst, *load.values()])
        return worst


def judge(words, period):
    net = generate('tree', *words)
    shift, every = Shift(net), order(net)[0].split()
    draw, seen = random.Random(7), {True: 0, False: 0}
    for n in range(period, len(every) + 1, period):
        first = draw.randrange(len(every) - n + 1)
        for ranks in (1, 3):
            block = every[first:first + n]
            got, free = job(net, draw.sample(block, n), '--slots=%d' % ranks)
            assert got == [(h, ranks) for h in block] and free, '%s %s: %s' % (words, block, got)
            assert shift.worst(got) <= ranks, '%s: %d hosts meet %d times' % (words, n, shift.worst(got))
    for trial in range(20):
        n = draw.randrange(2, len(every))
        some = set(draw.sample(every, n))
        got, free = job(net, ['%s:2' % h for h in some])
        assert got == [(h, 2) for h in every if h in some], got
        met = shift.worst(got) > 2
        assert not (free and met), '%s: %s is said to be free' % (words, got)
        seen[met] += 1
    assert seen[True], '%s: hosts at random never met' % (words,)
    product = math.prod(map(int, words[1][2:].split(',')))
    if product < period:	# a job that keeps the rule as printed, and meets
        meet = [n for n in range(product, len(every), product) if n % period and shift.worst([(h, 1) for h in every[:n]]) > 1]
        assert meet and not any(job(net, every[:n])[1] for n in meet), meet
    return net, every


def forms(net, every):
    """Files and lists that say the same."""
    listed = at('job.txt')
    with open(listed, 'w') as file:
        file.write('# a job\n%s slots=2\n%s,%s:3\n\n%s # once more' % (every[5], every[1], every[2], every[5]))
    want = [(every[1], 1), (every[2], 3), (every[5], 3)]
    rows = [line.split(',') for line in order('--csv', net)[0].splitlines()]
    lid = {r[1]: r[2] for r in rows}
    assert rows[0] == ['rank', 'host', 'lid', 'leaf', 'tree', 'index', 'ranks', 'guid'], rows[0]
    for text in (listed, '%s:3,%s,%s:3' % (every[2], every[1], every[5]),
                 'lid:%s:3,%s.cluster,%s:3' % (lid[every[2]], every[1], every[5])):
        out, _ = order('--hosts=' + text, '--csv', net)
        assert places(out) == want, '%s: %s' % (text, out)
    out, _ = order('--hosts=' + listed, '--format=rankfile', net)
    assert out.splitlines() == ['rank %d=%s slot=%d' % (i, h, s) for i, (h, s) in enumerate(
        (h, s) for h, n in want for s in range(n))], out
    rows = [line.split(',') for line in order('--hosts=' + listed, '--csv', net)[0].splitlines()[1:]]
    assert [(int(r[0]), int(r[6]), r[1]) for r in rows] == [(0, 1, every[1]), (1, 3, every[2]), (4, 3, every[5])], rows
    out, _ = order('--hosts=h[00-02,05]', net)
    assert out.split() == [h for h in every if h in ('h00', 'h01', 'h02', 'h05')], out
    for bad, what in (('nobody', 'nobody'), (every[0] + ':0', 'ranks'), (every[0] + ':x', 'ranks'), ('h[0', 'h[0'),
                      ('h[x]', 'h[x]'), ('lid:60000', '60000'), ('0x1', '0x1'), (every[0] + ' twice', 'twice'),
                      ('', 'no host'), (every[0] + ':65535,' + every[0], '65535')):
        out, said = order('--hosts=' + bad, net, code=2)
        assert not out and said.count('\n') == 1 and what in said, '%s: %s' % (bad, said)


def without(net, to, gone):
    """The fabric without these hosts."""
    with open(net) as whole, open(to, 'w') as file:
        file.write('\n\n'.join(re.sub('.*"(?:%s)".*\n' % '|'.join(gone), '', part + '\n').rstrip('\n')
                               for part in whole.read().split('\n\n')
                               if not re.search('(?m)^Ca\\t\\d+ "(?:%s)"' % '|'.join(gone), part)) + '\n')
    return to


def holes(net, every, period):
    """Hosts are missing from the tree: what is said of all that are there, and of the first ones, is so in the tables."""
    draw, seen = random.Random(11), collections.Counter()
    for trial in range(12):
        n = draw.randrange(len(every) // 2, len(every))
        n -= n % period if trial % 2 else 0
        gone = draw.sample(every, len(every) - n)
        less = without(net, at('less.net'), gone)
        out, said = order(less)
        ranks = [(host, 1) for host in out.split()]
        assert [host for host, _ in ranks] == [host for host in every if host not in gone], out
        shift, free = Shift(less), 'no two hosts\' flows of a shift meet' in said
        assert free == (shift.worst(ranks) == 1) and (free or n % period), '%d hosts: %s' % (n, said)
        first = re.search(r'%d hosts are no multiple of %d, the first (\d+) meet nowhere' % (n, period), said)
        assert not first or shift.worst(ranks[:int(first[1])]) == 1, said
        seen[free] += 1
        seen['first'] += bool(first)
    assert min(seen[True], seen[False], seen['first']), seen


def memory(net, every):
    """A host comes back: dmodk keeps the slots of the others, so it is the last of its leaf, and shifts in that order
    meet nowhere. The options are those of the configuration."""
    less, stored, conf = at('less.net'), at('stored'), at('osmroutes.conf')
    without(net, less, ['h00'])
    run('route', '-e', 'dmodk', '--config=none', '--save=' + stored, less, code=0)
    kept = order('--config=none', '--previous=' + stored, net)[0].split()
    assert kept == every[1:4] + every[:1] + every[4:], kept
    shift = Shift(net, '--config=none', '--previous=' + stored)
    assert shift.worst([(h, 1) for h in kept]) == 1
    run('whatif', '--links=4', '--seed=3', '--write=' + less, net)
    with open(conf, 'w') as file:
        file.write('[dmodk]\nmax_missing = 5\n')
    order('--config=none', less)
    out, said = order('--config=' + conf, less, code=1)
    assert not out and said.count('\n') == 1 and 'missing' in said, said


for i, (words, period) in enumerate(TREES):
    net, every = judge(words, period)
    holes(net, every, period)
    if not i:
        forms(net, every)
        memory(net, every)
