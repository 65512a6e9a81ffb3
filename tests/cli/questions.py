# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes path` against a program that knows nothing but cables and dumps (netfile.py): every switch and port of a path,
every host behind a cable, the cables of a job, a node at a glance, the busiest cables. SLs and VLs by the text dumps."""
import collections
import itertools
import re

from command import ask, at, generate, run, same, topology
from dump import Dump
from netfile import Oracle


def name_of(oracle, place):
    return oracle.cables[place][0]


def check_path(source, oracle, sls, a, b):
    found = ask('path', name_of(oracle, a), name_of(oracle, b), *source, code=0)
    for here, there in ((a, b), (b, a)):
        way, lid = oracle.path(here, there)[1:], oracle.lids[there]
        hops = [h for h in found['hops'] if h['lid'] == lid]
        same('path to LID %d' % lid, [(h['node'], h['out']) for h in hops if 'out' in h], way)
        path, = (p for p in found['paths'] if p['lid'] == lid)
        same('arrives, and switches', (path['arrives'], path['hops']), (True, len(way)))
        if sls:
            same('SL', path['sl'], sls[int(hops[0]['guid'], 16), lid])
            # Without SL2VL tables of other kinds dfsssp has VL = SL.
            same('VLs', {h['vl'] for h in hops}, {path['sl']})


def check_users(source, oracle, ways, channel):
    found = ask('path', '--via=%s:%d' % channel, *source, '--max=0', code=0)
    for number, end in ((1, channel), (2, oracle.cables[channel])):
        # A cable to a host: its own packets leave by its one cable.
        routes = [(name_of(oracle, a), name_of(oracle, b)) for (a, b), way in ways.items()
                  if end in way or end == oracle.cables[a]]
        of = lambda rows: [r for r in rows if r['direction'] == number]
        same('pairs', sorted((p['from'], p['to']) for p in of(found.get('pairs', []))), sorted(routes))
        row = of(found['directions'])[0]
        same('routes', (row['routes'], row['senders'], row['receivers']),
             (len(routes), len({a for a, b in routes}), len({b for a, b in routes})))


def check_hosts(source, oracle, ways, hosts):
    """Routes between the hosts of a job, over every channel between switches."""
    with open(at('job'), 'w') as file:
        file.write(''.join(name_of(oracle, h) + '\n' for h in hosts))
    found = ask('path', '--hosts=' + at('job'), *source, '--max=0', code=0)
    want = collections.Counter(c for pair in itertools.permutations(hosts, 2) for c in ways[pair]
                               if oracle.kinds[oracle.cables[c][0]] == 'Switch')
    same('cables', {(c['from'], c['from_port']): c['routes'] for c in found.get('cables', [])}, want)


def check_alone(source, oracle, ways):
    """Every node with the routes on each of its cables, and the busiest cables with who loads them."""
    load, users = collections.Counter(), collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    for (a, b), way in ways.items():
        for end in {oracle.cables[a], *way}:
            load[end] += 1
    for (a, b), way in ways.items():
        for end in way:
            users[end][0][name_of(oracle, a)] += 1
            users[end][1][name_of(oracle, b)] += 1
    for name in sorted(oracle.kinds):
        found = ask('path', name, *source, code=0)
        node, = found['nodes']
        same('type', node['type'], 'switch' if oracle.kinds[name] == 'Switch' else 'host')
        ends = {end: far for end, far in oracle.cables.items() if end[0] == name}
        same('cables', (node['cables'], len(found['ports'])), (len(ends), len(ends)))
        for p in found['ports']:
            end = name, p['port']
            same('%s:%d' % end, (p['to'], p['out'], p['in']), ('%s:%d' % ends[end], load[end], load[ends[end]]))
    found = ask('path', '--max=3', *source, code=0)
    between = {c: n for c, n in load.items() if oracle.kinds[c[0]] == oracle.kinds[oracle.cables[c][0]] == 'Switch'}
    same('busiest', [c['routes'] for c in found['directions']], sorted(between.values(), reverse=True)[:3])
    for c in found['directions']:
        end = c['from'], c['from_port']
        same('routes', (c['routes'], c['senders'], c['receivers']), (between[end], *map(len, users[end])))
        for role, uses in zip(('sender', 'receiver'), users[end]):
            named = {h['host']: h['routes'] for h in found['hosts'] if (h['direction'], h['role']) == (c['direction'], role)}
            same('hosts of a cable', (all(uses[n] == k for n, k in named.items()), sorted(named.values(), reverse=True)),
                 (True, sorted(uses.values(), reverse=True)[:3]))


def fabric(net, words):
    run('route', net, *words, '--dump', at('dump'), '--ibdmchk', code=0)
    oracle, sls = Oracle(net, at('dump', 'opensm-lfts.dump')), Dump(at('dump')).sl
    ways = {pair: oracle.path(*pair)[1:] for pair in itertools.permutations(oracle.hosts, 2)}
    # The default engine with default options, then the same tables as dumps.
    for source in ([net] + words, [at('dump')]):
        for a, b in list(zip(oracle.hosts, oracle.hosts[1:] + oracle.hosts[:1]))[::3]:
            check_path(source, oracle, sls, a, b)
        for channel in sorted(c for c in oracle.cables if oracle.kinds[c[0]] == 'Switch')[::7]:
            check_users(source, oracle, ways, channel)
        check_hosts(source, oracle, ways, oracle.hosts[::3])
        check_alone(source, oracle, ways)


def is_in_order(steps):
    """Directions +X +Y +Z -X -Y -Z in this order, of each dimension one."""
    places = ['+X+Y+Z-X-Y-Z'.index(step) for step in steps]
    return places == sorted(places) and not any('+' + axis in steps and '-' + axis in steps for axis in 'XYZ')


def directions(net, sizes):
    """Steps of a torus: each direction changes one coordinate by one, and without the steps that are named as first or
    last the route is in order, and with them it is not."""
    moves, n_broken = {}, 0
    for a, b in itertools.permutations(['h%02d' % i for i in range(0, sizes[0] * sizes[1] * sizes[2], 3)], 2):
        hops = [h for h in ask('path', a, b, net, '-e', 'angara', '-o', 'paths=graph', code=(0, 1))['hops'] if h['from'] == a]
        steps = [h['step'].split() for h in hops if 'step' in h]
        for hop, (step, *_) in zip([h for h in hops if 'step' in h], steps):
            ends = [[int(x) for x in hop[end].split('-')[1:]] for end in ('node', 'to')]
            moves.setdefault(step, set()).add(tuple((y - x) % n for x, y, n in zip(*ends, sizes)))
        body = [step for step, *broke in steps if not broke]
        same('steps in order', (is_in_order(body), is_in_order([step for step, *_ in steps])), (True, len(body) == len(steps)))
        n_broken += len(body) < len(steps)
        for place, word in ((0, 'first'), (-1, 'last')):
            same(word, [s for s in steps if word in s[1:]], [s for s in [steps[place]] if word in s[1:]])
    same('one move a direction', {len(m) for m in moves.values()}, {1})
    one = {step: min(m) for step, m in moves.items()}
    for axis in 'XYZ':
        same('back', one['-' + axis], tuple(-x % n for x, n in zip(one['+' + axis], sizes)))
    same('some steps break the order', n_broken > 0, True)


directions(generate('torus', 'dims=8x3x2', 'hosts=1'), (8, 3, 2))
for name, words in (('tree-3', []), ('ring-5', ['-o', 'any_sl=off']), ('random-12', []), ('tree-2', ['-e', 'dmodk'])):
    fabric(topology(name), words)
# An entry that is not there: the path says where it ends.
lid = ask('path', 'h00', 'h15', topology('tree-2'))['paths'][0]['lid']
with open(at('dump', 'opensm-lfts.dump'), 'r+') as file:
    text = re.sub(r'(?mi)^0x%04x \d+ .*\n' % lid, '', file.read())
    file.seek(0)
    file.truncate()
    file.write(text)
same('arrives', [p['arrives'] for p in ask('path', 'h00', 'h15', at('dump'), code=1)['paths']], [False, True])
print('paths, users of cables and cables of jobs are what they are by hand')
