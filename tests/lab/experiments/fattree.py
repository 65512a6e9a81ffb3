# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Experiments of the D-Mod-K paper (Zahavi: Fat-Trees Routing and Node Ordering Providing
Contention Free Traffic for MPI Global Collectives), and dmodk on broken trees."""
import collections
import random
import re
import shutil

from measure import Data, Failure, read_net, sm_first

# Figure 3: end ports and trees. The paper names the numbers only; these are real life fat trees, the
# 1,944 as its table 3 has them.
SIZES = [
    (128, ('8,16', '1,8', '1,1')),
    (324, ('18,18', '1,9', '1,2')),
    (1728, ('12,12,12', '1,12,6', '1,1,2')),
    (1944, ('18,18,6', '1,18,6', '1,1,3')),
]

FIGURE3 = {'Binomial': 'cps-binomial', 'Butterfly': 'cps-doubling',
           'Dissemination': 'cps-dissemination', 'Ring': 'cps-ring', 'Shift': 'cps-shift',
           'Tournament': 'cps-tournament'}

# Section II: hosts on PCIe Gen2 x8, links QDR, in MB/s.
RATES = (3250, 4000)


def tree(workshop, m, w, p):
    return workshop.generate('tree', 'm=' + m, 'w=' + w, 'p=' + p)


def tuple_of(m, w, p):
    return '%d;%s;%s;%s' % (m.count(',') + 1, m, w, p)


def figure3(workshop):
    """Hot spot degree of six collectives by size, random orders (figure 3, D-Mod-K)."""
    data = Data('dmodk_figure3', ['hosts', 'collective', 'orders', 'hsd', 'least', 'most', 'ordered'])
    orders = 25
    for n, shape in SIZES:
        net = tree(workshop, *shape)
        got = workshop.patterns(net, 'dmodk', list(FIGURE3.values()), workshop.order(net), orders)
        for name, pattern in FIGURE3.items():
            row = got[pattern]['random']
            data.add(n, name, orders, row['hsd'], row['hsd_min'], row['hsd_max'],
                     got[pattern]['ordered']['hsd'])
    return [data]


# Tree, orders, stages, messages under way: time grows with the square of these, so the larger tree has fewer.
FIGURE2 = [SIZES[1] + (3, 20, (0, 1, 2, 4, 8)), SIZES[-1] + (3, 60, (0,))]


def figure2(workshop):
    """Bandwidth of shift and recursive doubling on random orders, flow level (figure 2, D-Mod-K)."""
    data = Data('dmodk_figure2', ['hosts', 'sequence', 'stages', 'in_flight', 'orders', 'bandwidth',
                                  'least', 'most', 'ordered'])
    for hosts, shape, orders, stages, in_flights in FIGURE2:
        net = tree(workshop, *shape)
        names = workshop.order(net)
        doubling = 'cps-doubling-tree:' + shape[0]
        for name, pattern, in_order, some in (('shift', 'cps-shift', 'cps-shift', stages),
                                              ('recursive doubling', 'cps-doubling', doubling, 0)):
            for n in in_flights:
                got = [workshop.flow(net, 'dmodk', names, seed, pattern, some, n, RATES)
                       for seed in range(1, orders + 1)]
                data.add(hosts, name, some or 'all', n or 'barrier', orders, sum(got) / len(got),
                         min(got), max(got),
                         workshop.flow(net, 'dmodk', names, 0, in_order, some, n, RATES))
    return [data]


def adversary(names, m):
    """An order of the hosts in which rank i and i + 1 meet with all others of the leaf on one link:
    hosts of leaf A send to the A-th slot (modulo the up-links) of other leaves. Leaves have `m`
    hosts and as many up-links."""
    leaves = len(names) // m
    if leaves % m or leaves == m:
        raise ValueError('the leaves must be a multiple of the up-links')
    to = {}
    for c in range(m):
        senders = [host for leaf in range(c, leaves, m) for host in range(leaf * m, leaf * m + m)]
        for i, host in enumerate(senders):	# i of leaf i // m * m + c; m further is never that one
            to[host] = (i + m) % leaves * m + c
    while True:	# exchanging what two hosts of a leaf send to joins their cycles
        cycle, at = {0}, to[0]
        while at:
            cycle.add(at)
            at = to[at]
        if len(cycle) == len(names):
            break
        a, b = next((a, b) for a in sorted(cycle) for b in range(a // m * m, a // m * m + m)
                    if b not in cycle)
        to[a], to[b] = to[b], to[a]
    order = [0]
    while to[order[-1]]:
        order.append(to[order[-1]])
    return [names[i] for i in order]


def ring(workshop):
    """The order of hosts that is worst for a ring: 18 flows on one link (section II, D-Mod-K)."""
    data = Data('dmodk_ring', ['hosts', 'order', 'hsd', 'bandwidth', 'mbps'])
    hosts, shape = SIZES[-1]
    m = int(shape[0].split(',')[0])
    net = tree(workshop, *shape)
    names = workshop.order(net)
    for kind, order, seed in (('of the tree', names, 0), ('random', names, 1),
                              ('adversary', adversary(names, m), 0)):
        part = workshop.flow(net, 'dmodk', order, seed, 'cps-ring', 0, 0, RATES)
        row = workshop.patterns(net, 'dmodk', ['cps-ring'], order, 25)['cps-ring']
        row = row['random' if seed else 'ordered']
        data.add(hosts, kind, row['hsd'], part, part * RATES[0])
        # A link's rate, shared by the flows that the order brings to it: no more, no less.
        if kind == 'adversary' and (row['max_congestion'] != m or abs(part * RATES[0] * m - RATES[1]) > 0.01 * RATES[1]):
            raise Failure('the adversary has %d flows on a link, not %d, and %f MB/s' % (row['hsd'], m, part * RATES[0]))
        if kind == 'of the tree' and part < 0.999:
            raise Failure('in the order of the tree hosts reach %f of their bandwidth' % part)
    return [data]


MORE = [(200, ('10,20', '1,10', '1,1')), (1024, ('8,8,16', '1,8,8', '1,1,1')),
        (1000, ('10,10,10', '1,10,5', '1,1,2')), (11664, ('18,18,36', '1,18,18', '1,1,1'))]


def theorem3(workshop):
    """Recursive doubling that follows the tree, and that does not (theorem 3, D-Mod-K)."""
    sequences = ['cps-doubling', 'cps-doubling-mpi']
    data = Data('dmodk_theorem3', ['tree', 'hosts', 'stages', 'tree_hsd', 'plain_hsd', 'mpi_stages',
                                   'mpi_hsd'])
    for n, shape in SIZES + MORE:
        net = tree(workshop, *shape)
        by_tree = 'cps-doubling-tree:' + shape[0]
        got = workshop.patterns(net, 'dmodk', sequences + [by_tree], workshop.order(net),
                                ranking='ordered')
        of = {name: got[name]['ordered'] for name in got}
        if of[by_tree]['max_congestion'] != 1:
            raise Failure('theorem 3 does not hold on %s' % tuple_of(*shape))
        data.add(tuple_of(*shape), n, of[by_tree]['phases'], of[by_tree]['hsd'],
                 of['cps-doubling']['hsd'], of['cps-doubling-mpi']['phases'],
                 of['cps-doubling-mpi']['hsd'])
    return [data]


# ---- jobs on a part of the tree -------------------------------------------------------------------

# Tree, and how many hosts are left out: those of table 3, and a number that keeps the rule as the paper prints it
# (a multiple of w_1 .. w_h remains) but not w_1 .. w_h p_h.
PARTIAL = [(('12,12', '1,6', '1,2'), (24, 6)), (('18,18', '1,9', '1,2'), (36, 9)),
           (('12,12,12', '1,12,6', '1,1,2'), (144, 72)), (('18,18,6', '1,18,6', '1,1,3'), (648, 108))]


def partial(workshop):
    """Shift on a part of the hosts, a block left out or hosts at random (section V-B, table 3, D-Mod-K)."""
    data = Data('dmodk_partial', ['tree', 'hosts', 'ranks', 'left_out', 'rule', 'jobs', 'hsd', 'least', 'most',
                                  'worst', 'random_order'])
    for shape, numbers in PARTIAL:
        net = tree(workshop, *shape)
        every = workshop.order(net)
        for number in numbers:
            n = len(every) - number
            block = [every[number:]]
            rng = random.Random(number)
            others = []
            for _ in range(25):
                kept = set(rng.sample(every, n))
                others.append([host for host in every if host in kept])
            for kind, jobs in (('a block', block), ('at random', others)):
                rows = [workshop.patterns(net, 'dmodk', ['cps-shift'], job, ranking='ordered')['cps-shift']['ordered']
                        for job in jobs]
                hsd = [row['hsd'] for row in rows]
                mixed = workshop.patterns(net, 'dmodk', ['cps-shift'], jobs[0], 25, 'random')
                rules = {workshop.job_rule(net, job) for job in jobs}
                rule, = rules	# all jobs of a kind, or the kinds are wrong
                worst = max(row['max_congestion'] for row in rows)
                if rule and worst > 1:
                    raise Failure('%s without %s of %d: the rule is kept, and flows meet' % (tuple_of(*shape), kind, n))
                data.add(tuple_of(*shape), len(every), n, kind, 'kept' if rule else 'not kept', len(jobs),
                         sum(hsd) / len(hsd), min(hsd), max(hsd), worst, mixed['cps-shift']['random']['hsd'])
    return [data]


# ---- partly populated trees -----------------------------------------------------------------------

# Tree, the cables that have to divide the number of hosts, two numbers of hosts, and draws by stock ftree, which is slow.
SUBSETS = [(('12,12', '1,6', '1,2'), 12, (120, 115), 3), (('6,6,4', '1,6,2', '1,1,3'), 36, (108, 103), 3),
           (('8,4,4', '1,4,4', '1,1,1'), 16, (96, 91), 3), (('18,18,6', '1,18,6', '1,1,3'), 324, (1620, 1601), 0)]
SUBSET_DRAWS = 12


def _least(shape, place):
    """Mean over the stages of the flows out of the worst sub-tree, over its cables."""
    m, w, p = ([int(n) for n in of.split(',')] for of in shape)
    n, total = len(place), 0
    for stage in range(1, n):
        least, below, ways = 1, 1, 1
        for level in range(1, len(m)):
            below, ways = below * m[level - 1], ways * w[level]
            out = collections.Counter(a // below for a, b in zip(place, place[stage:] + place[:stage]) if a // below != b // below)
            least = max([least, *(-(-flows // (ways * p[level])) for flows in out.values())])
        total += least
    return total / (n - 1)


def _without(text, names):
    """A net file without these hosts."""
    every = '|'.join(names)
    return re.sub(r'(?m)^\[\d+\]\s*"(?:%s)".*\n' % every, '', re.sub(r'(?m)^Ca\t\d+ "(?:%s)".*\n(?:\[.*\n)*' % every, '', text))


def subsets(workshop):
    """Shift over all hosts of trees that lack some at random, ours and stock ftree (section V-B, D-Mod-K)."""
    data = Data('dmodk_subsets', ['tree', 'hosts', 'there', 'rule', 'seed', 'by', 'routing', 'hsd', 'most', 'least'])
    for shape, period, numbers, stock_seeds in SUBSETS:
        with open(tree(workshop, *shape)) as file:
            whole = file.read()
        every = sorted(re.findall(r'(?m)^Ca\t\d+ "(\w+)"', whole))
        for there in numbers:
            for seed in range(1, SUBSET_DRAWS + 1):
                gone = random.Random(seed).sample(every, len(every) - there)
                net = workshop.edit(tree(workshop, *shape), lambda text: sm_first(_without(text, gone)))
                hosts = [host for host in every if host not in gone]
                least = _least(shape, [every.index(host) for host in hosts])
                rows = [('ours', 'dmodk', workshop.patterns(net, 'dmodk', ['cps-shift'], hosts, ranking='ordered'))]
                if seed <= stock_seeds:
                    rows += [('stock', 'ftree', got) for got in workshop.stock(net, ['ftree'], lambda done: workshop.patterns(
                        net, {'tables': done.lfts}, ['cps-shift'], hosts, ranking='ordered')).values()]
                for by, routing, got in rows:
                    row = got['cps-shift']['ordered']
                    if by == 'ours' and there % period == 0 and abs(row['hsd'] - least) > 1e-9:
                        raise Failure('%s, %d hosts, seed %d: HSD %f, the least is %f' % (tuple_of(*shape), there, seed, row['hsd'], least))
                    data.add(tuple_of(*shape), len(every), there, 'other' if there % period else 'multiple', seed, by, routing,
                             row['hsd'], row['max_congestion'], least)
    return [data]


# ---- broken trees ---------------------------------------------------------------------------------


def bound(net):
    """Hosts over live up-links, rounded up, of the worst leaf; and the GUIDs of the top switches."""
    (cables, kinds), hosts, ups = read_net(net), collections.Counter(), collections.Counter()
    for (near, _), (far, _) in cables.items():
        (ups if kinds[far] == 'Switch' else hosts)[near] += 1
    with open(net) as file:
        roots = re.findall(r'^switchguid=(\w+).*\nSwitch\s+\d+\s+"core', file.read(), re.M)
    return max(-(-n // ups[leaf]) for leaf, n in hosts.items()), roots


def _faults(workshop, name, shape, seeds, ours, stock, stock_seeds, pattern='cps-shift'):
    """Rows of one tree. Stock ftree and updn get the list of the roots, which ours do not need."""
    data = Data(name, ['hosts', 'seed', 'routing', 'by', 'stages', 'hsd', 'most', 'bound', 'lost'])
    whole = shutil.move(tree(workshop, *shape), workshop.path('whole.net'))
    kept = workshop.kept_rows(name)
    for seed in range(1, seeds + 1):
        net = workshop.degrade(whole, '--links=1%', '--seed=%d' % seed)
        hosts = workshop.order(net)
        worst, roots = bound(net)
        rows = [('ours', engine,
                 workshop.patterns(net, engine, [pattern], hosts, ranking='ordered')
                 [pattern]['ordered'])
                for engine, n in ours.items() if seed <= n]
        old = [r for r in kept if r['seed'] == str(seed) and r['by'] == 'stock']
        if seed <= stock_seeds and not old:
            listed = workshop.path('roots')
            with open(listed, 'w') as file:
                file.write('\n'.join(roots) + '\n')
            shifts = workshop.stock(net, stock, lambda done: workshop.patterns(
                net, {'tables': done.lfts}, [pattern], hosts, ranking='ordered')[pattern]['ordered'], root_guid_file=listed)
            rows += [('stock', engine, row) for engine, row in shifts.items()]
        for by, engine, row in rows:
            data.add(len(hosts), seed, engine, by, row['phases'], row['hsd'], row['max_congestion'],
                     worst, row['pairs_no_path'])
        data.rows += old
    return [data]


def faults(workshop):
    """Shift on 1,944 hosts with 1 % of the links gone, ours and stock (dmodk on broken trees)."""
    return _faults(workshop, 'dmodk_faults', SIZES[-1][1], 100, {'dmodk': 100, 'dfsssp': 100},
                   ['ftree', 'updn', 'dfsssp'], 5)


LARGE = ('18,18,36', '1,18,18', '1,1,1')


def faults_large(workshop):
    """The same on 11,664 hosts and 100 stages: stock ftree and updn one seed (half an hour)."""
    return _faults(workshop, 'dmodk_faults_large', LARGE, 25,
                   {'dmodk': 25, 'dfsssp': 10}, ['ftree', 'updn'], 1, 'cps-shift:100')


ALL = {
    'dmodk-figure2': figure2, 'dmodk-figure3': figure3, 'dmodk-ring': ring,
    'dmodk-theorem3': theorem3, 'dmodk-partial': partial, 'dmodk-subsets': subsets, 'dmodk-faults': faults,
    'dmodk-faults-large': faults_large,
}
