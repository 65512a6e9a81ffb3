#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes whatif` against the same done by hand: what failed is struck out of the net file or of the
opensm-subnet.lst of before, what is left is routed, and the paths before and after are followed (bandwidth.py). There
the engine is one that routes from nothing each time. Of the default engine verdicts.py compares the tables with those of
`route --previous`; here full routes come where its balance asks for one.

    whatif.py COMMAND ROOT
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

from bandwidth import Oracle, run
from netfile import cables, read_net

ENGINE = 'p2sssp'


def tables(command, net, folder, *words, cables_of=None):
    run(command, 'route', net, *(words or ('-e', ENGINE, '--vls=8')), '--dump', folder)
    return Oracle(cables_of or net, os.path.join(folder, 'opensm-lfts.dump'))


def blocks(before, now):
    """Blocks of 64 LIDs that differ on switches that are still there; an entry that is missing leads nowhere."""
    return len({(s, lid // 64) for s in now.tables for lid in set(before.tables[s]) | set(now.tables[s])
                if before.tables[s].get(lid, 255) != now.tables[s].get(lid, 255)})


# Several at once, switches, and one at a time ---------------------------------------------------------------------

def strike_lines(lst, gone):
    """opensm-subnet.lst without the cables that have an end in gone: (name of a switch, port or None for all)."""
    lines = []
    for line in open(lst):
        ends = re.findall(r'\{([^{}]+)\} LID:\w+ PN:(\w+)', line)
        if not any((name, int(port, 16)) in gone or (name, None) in gone for name, port in ends):
            lines.append(line)
    return ''.join(lines)


def way(oracle, a, b):
    """Every (switch, port) from one host to another; None where there is no path."""
    steps, switch, lid = [], a[0], oracle.lids.get(b)
    while (switch, oracle.tables.get(switch, {}).get(lid)) != b:
        port = oracle.tables.get(switch, {}).get(lid)
        peer = oracle.cables.get((switch, port))
        if not peer:
            return None
        steps.append((switch, port))
        switch = peer[0]
    return steps + [b]


def cut_off(before, gone):
    """The switches outside the part with the most hosts, of equals the first: OpenSM sees one part of a split fabric."""
    left, parts = [s for s in before.tables if (s, None) not in gone], []
    while left:
        part = [left.pop(0)]
        for s in part:
            for port in range(1, 256):
                peer = before.cables.get((s, port))
                if peer and peer[0] in left and (s, port) not in gone and peer not in gone:
                    left.remove(peer[0])
                    part.append(peer[0])
        parts.append(part)
    main = max(parts, key=lambda part: sum(host[0] in part for host in before.hosts))
    return {(s, None) for part in parts for s in part if part is not main}


def after(command, net, before, gone, workdir, *words):
    """What came of it, by hand; `before` has its dumps in workdir/before."""
    broken = os.path.join(workdir, 'broken.lst')
    with open(broken, 'w') as out:
        out.write(strike_lines(os.path.join(workdir, 'before', 'opensm-subnet.lst'),
                               gone | cut_off(before, gone)))
    now = tables(command, broken, os.path.join(workdir, 'after'), *words, cables_of=net)
    for end in [e for e in now.cables if e in gone or (e[0], None) in gone]:
        now.cables.pop(now.cables.pop(end, None), None)
    pairs = [(a, b) for a in before.hosts for b in before.hosts if a != b]
    kept = [p for p in pairs if not {(end[0], None) for end in p} & gone]
    old, new = ({p: way(o, *p) for p in kept} for o in (before, now))
    lids = set().union(*now.tables.values()) & set().union(*before.tables.values())
    lost = [p for p in kept if new[p] is None]
    found = {'pairs_gone': len(pairs) - len(kept), 'pairs_lost': len(lost),
             'blocks_changed': blocks(before, now),
             'pairs_cut': sum(any(step in gone or (step[0], None) in gone for step in old[p])
                              for p in kept),
             'pairs_path': sum(new[p] is not None and old[p] != new[p] for p in kept),
             'entries_changed': sum(before.tables[s].get(lid) != now.tables[s].get(lid)
                                    for s in now.tables for lid in lids)}
    if not lost and kept == pairs:
        load = collections.Counter(step for steps in new.values() for step in steps[:-1])
        found['efi'] = max(load.values())
    return found


def compare(what, got, want):
    for key, value in want.items():
        if got[key] != value:
            sys.exit('%s: %s is %r, and by hand it is %r' % (what, key, got[key], value))


def whatif_default(command, net, *words):
    done = subprocess.run([command, 'whatif', net, '--json', *words], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit('%s: %s' % (words, done.stderr))
    return json.loads(done.stdout)


def whatif(command, net, *words):
    return whatif_default(command, net, '-e', ENGINE, *words)['cases']


def switches(command, net, before, workdir):
    names = [s for s in before.tables][::4]
    for name in names:
        compare('%s without %s' % (net, name), whatif(command, net, '--switch', name)[0],
                after(command, net, before, {(name, None)}, workdir))
    return len(names)


def at_random(command, net, before, workdir):
    words = ['--links=%d' % (1 + has_transit(net))] + ['--switches=1'] * has_transit(net)
    whole, cases = cables(net), whatif(command, net, *words, '--cases=3', '--seed=5', '--max=0')
    for case in cases:
        seed = re.match(r'seed (\d+):', case['case']).group(1)
        left = os.path.join(workdir, 'left.net')
        run(command, 'whatif', net, *words, '--seed', seed, '--write', left)
        there = set(re.findall(r'^Switch\s+\d+\s+"([^"]+)"', open(left).read(), re.M))
        gone = {(s, None) for s in before.tables if s not in there}
        names = {s for s, _ in gone}
        for cable in whole:
            if cable not in cables(left):
                gone |= set(map(tuple, cable))
                if not {end[0] for end in cable} & {s for s, port in gone if port is None}:
                    names.add(' - '.join('%s:%d' % tuple(end) for end in sorted(cable)))
        said = {' - '.join(sorted(name.split(' - '))) for name in case['case'].split(': ', 1)[1].split(', ')}
        if said != names:
            sys.exit('%s, seed %s: said to be removed are %s, missing are %s' % (net, seed, said, names))
        compare('%s, seed %s' % (net, seed), case, after(command, net, before, gone, workdir))
    return len(cases)


def one_at_a_time(command, net, before, workdir):
    cases = whatif(command, net, '--each=link', '--max=0', '--threads=2')
    if len(cases) != len(cables(net)):
        sys.exit('%s: %d cases for %d cables' % (net, len(cases), len(cables(net))))
    for case in cases[::6]:
        want = after(command, net, before, ends_of(case['case']), workdir)
        link = case['case'].split(' - ')[0]
        for got in case, whatif(command, net, '--link', link)[0]:
            compare('%s without %s' % (net, case['case']), got, want)
    for case in whatif(command, net, '--each=switch', '--max=0') if has_transit(net) else []:
        compare('%s without %s' % (net, case['case']), case,
                after(command, net, before, {(case['case'], None)}, workdir))
    return len(cases[::6])


def has_transit(net):
    """Is there a switch without hosts?"""
    ends, kinds = read_net(net)
    return {s for s, kind in kinds.items() if kind == 'Switch'} != {far for (node, _), (far, _) in ends.items()
                                                                    if kinds[node] != 'Switch'}


def split(command, workdir):
    """A line of four switches, 8 hosts: in halves OpenSM finds one, 4 * 3 of 8 * 7 pairs stay, and 2 * 4 * 4 crossed the
    cable; without the last switch 6 * 5 stay, and 2 * 2 * 6 crossed."""
    net = os.path.join(workdir, 'line.net')
    run(command, 'generate', 'mesh', 'dims=4', 'hosts=2', '-o', net)
    for words, cut, left, efi in ((['--link=s-1:3'], 32, 4, 4), (['--link=s-2:3', '-e', 'angara'], 24, 6, 8), (['--link=s-1:3', '-e', 'angara'], 32, 4, 4)):
        said = whatif_default(command, net, *words)
        compare('a split line, %s' % words, said['cases'][0], {
            'status': 'ok', 'verdict': 'proven', 'pairs_gone': 0, 'pairs_cut': cut, 'pairs_lost': 56 - left * (left - 1),
            'efi': efi})
        if 'the fabric is split; routed is the part of s-0, with %d end ports' % left not in said['cases'][0]['message']:
            sys.exit('%s: not said which part is routed' % words)
    # Two of the four switches, which angara remembers, are a line of two.
    compare('half a line', said['cases'][0], {'entries_changed': 0, 'pairs_path': 0})
    if 'too much of it is missing' in said['cases'][0]['message']:
        sys.exit('half a line is refused: %s' % said['cases'][0]['message'])
    return 3


# The default engine, which re-routes from the tables of before -----------------------------------------------------

def ends_of(case):
    a, i, b, j = re.match(r'(.+):(\d+) - (.+):(\d+)$', case).groups()
    return {(a, int(i)), (b, int(j))}


def rebalance(command, workdir):
    """No tables that are worse balanced than `rebalance` allows. Whole, the tree is at its bound (eight hosts below four
    cables send to 56 others), so no bound of what is left is above the EFI of its full route."""
    net = os.path.join(workdir, 'lean.net')
    run(command, 'generate', 'tree', 'm=8,8', 'w=1,4', '-o', net)
    before = tables(command, net, os.path.join(workdir, 'before'), '--vls=8')
    kept = whatif_default(command, net, '--each=link', '--max=0', '-o', 'rebalance=0')
    found = whatif_default(command, net, '--each=link', '--max=0', '-o', 'rebalance=101')
    if kept['engines'][0]['efi_before'] != 8 * 56 // 4:
        sys.exit('%s: EFI %d' % (net, kept['engines'][0]['efi_before']))
    for i in range(0, len(kept['cases']), 6):
        case = found['cases'][i]
        want = after(command, net, before, ends_of(case['case']), workdir, '--vls=8')
        if 100 * case['efi'] > 101 * want['efi']:
            sys.exit('rebalance, without %s: EFI %d, and of a full route %d' % (case['case'], case['efi'], want['efi']))
        if 100 * kept['cases'][i]['efi'] > 105 * want['efi']:
            sys.exit('without %s: EFI %d after a re-route, and of a full route %d'
                     % (case['case'], kept['cases'][i]['efi'], want['efi']))
    return len(kept['cases']) + rebalance_fires(command, workdir)


def rebalance_fires(command, workdir):
    """A torus with lanes by SL (five times the excess) less a cable: a re-route is worse than 1.05 of a full route, so others come:
    no worse, and where these are not those of a full route with fewer blocks."""
    net = os.path.join(workdir, 'torus.net')
    by_sl = ('-o', 'any_sl=off')
    run(command, 'generate', 'torus', 'dims=6x6', 'hosts=2', '-o', net)
    before = tables(command, net, os.path.join(workdir, 'before'), '--vls=8', *by_sl)
    said = [whatif_default(command, net, '--each=link', '-o', 'rebalance=%d' % limit, *by_sl) for limit in (0, 101)]
    kept, found = ({c['case']: c for c in x['cases']} for x in said)
    fired, full = [name for name in found if found[name]['digest'] != kept[name]['digest']], 0
    for name in fired[::8]:
        want = after(command, net, before, ends_of(name), workdir, '--vls=8', *by_sl)
        if found[name]['blocks_changed'] >= want['blocks_changed']:
            compare('rebalance, without %s' % name, found[name], want)
            full += 1
        if 100 * found[name]['efi'] > 105 * max(want['efi'], said[0]['engines'][0]['efi_before']):
            sys.exit('rebalance, without %s: EFI %d, and of a full route %d' % (name, found[name]['efi'], want['efi']))
    if not full:
        sys.exit('rebalance never fires')
    if sum(c['efi'] for c in found.values()) >= sum(c['efi'] for c in kept.values()):
        sys.exit('rebalance does not lower the load')
    return len(list(found)[::8])


def main():
    command, root = sys.argv[1:]
    n = 0
    with tempfile.TemporaryDirectory() as workdir:
        n += rebalance(command, workdir) + split(command, workdir)
    for name in ('torus-4x4', 'tree-2', 'random-12'):
        net = os.path.join(root, 'topologies', name + '.net')
        with tempfile.TemporaryDirectory() as workdir:
            before = tables(command, net, os.path.join(workdir, 'before'))
            for part in (switches, at_random, one_at_a_time):
                n += part(command, net, before, workdir)
    print('%d cases: what breaks and what changes is what it is by hand' % n)


if __name__ == '__main__':
    main()
