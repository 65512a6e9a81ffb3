# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes whatif` against the same done by hand: what failed is struck out of opensm-subnet.lst of before, what is left is
routed, and `osmroutes diff` compares the dumps (diff.py and unit.traffic say whether it counts right). There the engine is
one that routes from nothing each time. Of the default engine verdicts.py compares the tables with those of
`route --previous`; here full routes come where its balance asks for one."""
import re
import subprocess

from command import ask, COMMAND, at, generate, run, same, same_keys, topology
from netfile import Oracle, cables, read_lfts, read_net

ENGINE = ('-e', 'p2sssp')


class Before(Oracle):
    """A fabric, and its tables by these words in the directory `before`."""

    def __init__(self, net, *words):
        self.net, self.words = net, words
        run('route', net, *words, '--vls=8', '--dump', at('before'))
        super().__init__(net, at('before', 'opensm-lfts.dump'))

    def cut_off(self, gone):
        """The switches outside the part with the most hosts, of equals the first: OpenSM sees one part of a split fabric."""
        left, parts = [s for s in self.tables if (s, None) not in gone], []
        while left:
            part = [left.pop(0)]
            for s in part:
                for end in ((s, port) for port in range(1, 256)):
                    peer = self.cables.get(end)
                    if peer and peer[0] in left and end not in gone and peer not in gone:
                        left.remove(peer[0])
                        part.append(peer[0])
            parts.append(part)
        main = max(parts, key=lambda part: sum(host[0] in part for host in self.hosts))
        return {(s, None) for part in parts for s in part if part is not main}

    def without(self, gone):
        """What comes of it without the cables that have an end in gone: (name of a switch, port or None for all)."""
        cut = self.cut_off(gone)
        with open(at('before', 'opensm-subnet.lst')) as lst, open(at('broken.lst'), 'w') as out:
            for line in lst:
                ends = re.findall(r'\{([^{}]+)\} LID:\w+ PN:(\w+)', line)
                if not any((name, int(port, 16)) in gone | cut or (name, None) in gone | cut for name, port in ends):
                    out.write(line)
        now = ask('route', at('broken.lst'), *self.words, '--vls=8', '--bisections=0', '--dump', at('after'))['results'][0]
        pairs = [(a, b) for a in self.hosts for b in self.hosts if a != b]
        kept = [p for p in pairs if not {(end[0], None) for end in p} & gone]
        found = {'pairs_gone': len(pairs) - len(kept), 'pairs_lost': sum(bool({(h[0], None) for h in p} & cut) for p in kept),
                 'pairs_cut': sum(any(step in gone or (step[0], None) in gone for step in self.path(*p)[1:]) for p in kept),
                 'efi': now['efi'], 'digest': now['digest']}
        diff = ask('diff', at('before'), at('after'))['diff']
        # Blocks of 64 LIDs that differ on switches that are still there, by entries for LIDs that are gone, too.
        tables = read_lfts(at('after', 'opensm-lfts.dump'))
        blocks = {(s, lid // 64) for s, table in tables.items() for lid in set(self.tables[s]) | set(table)
                  if self.tables[s].get(lid, 255) != table.get(lid, 255)}
        return dict(found, blocks_changed=len(blocks), entries_changed=diff['entries_changed'], pairs_path=diff['pairs_path'])


def whatif(net, *words):
    return ask('whatif', net, *words)['cases']


def switches(before):
    names = [s for s in before.tables][::4]
    for name in names:
        same_keys('%s without %s' % (before.net, name), whatif(before.net, *ENGINE, '--switch', name)[0], before.without({(name, None)}))


def has_transit(net):
    """Is there a switch without hosts?"""
    ends, kinds = read_net(net)
    return {s for s, kind in kinds.items() if kind == 'Switch'} != {far for (node, _), (far, _) in ends.items()
                                                                    if kinds[node] != 'Switch'}


def at_random(before):
    net = before.net
    words = ['--links=%d' % (1 + has_transit(net))] + ['--switches=1'] * has_transit(net)
    for case in whatif(net, *ENGINE, *words, '--cases=3', '--seed=5', '--max=0'):
        seed, listed = re.match(r'seed (\d+): (.*)', case['case']).groups()
        left = at('left.net')
        run('whatif', net, *words, '--seed', seed, '--write', left)
        names = set(before.tables) - set(read_net(left)[1])
        gone = {(s, None) for s in names}
        for cable in set(cables(net)) - set(cables(left)):
            gone |= set(cable)
            if not {end[0] for end in cable} & names:
                names.add(' - '.join('%s:%d' % end for end in cable))
        same('%s, seed %s: removed' % (net, seed), {' - '.join(sorted(name.split(' - '))) for name in listed.split(', ')}, names)
        same_keys('%s, seed %s' % (net, seed), case, before.without(gone))


def ends_of(case):
    a, i, b, j = re.match(r'(.+):(\d+) - (.+):(\d+)$', case).groups()
    return {(a, int(i)), (b, int(j))}


def one_at_a_time(before):
    net = before.net
    cases = whatif(net, *ENGINE, '--each=link', '--max=0', '--threads=2')
    same(net, len(cases), len(cables(net)))
    for case in cases[::6]:
        want, link = before.without(ends_of(case['case'])), case['case'].split(' - ')[0]
        for got in case, whatif(net, *ENGINE, '--link', link)[0]:
            same_keys('%s without %s' % (net, case['case']), got, want)
    for case in whatif(net, *ENGINE, '--each=switch', '--max=0') if has_transit(net) else []:
        same_keys('%s without %s' % (net, case['case']), case, before.without({(case['case'], None)}))


def split():
    """A line of four switches, 8 hosts: in halves OpenSM finds one, 4 * 3 of 8 * 7 pairs stay, and 2 * 4 * 4 crossed the
    cable; without the last switch 6 * 5 stay, and 2 * 2 * 6 crossed. Two of the four switches, which angara remembers, are a
    line of two."""
    net = generate('mesh', 'dims=4', 'hosts=2')
    for words, cut, left, efi, kept in ((['--link=s-1:3'], 32, 4, 4, {}), (['--link=s-2:3', '-e', 'angara'], 24, 6, 8, {}),
                                        (['--link=s-1:3', '-e', 'angara'], 32, 4, 4, {'entries_changed': 0, 'pairs_path': 0})):
        case, = whatif(net, *words)
        same_keys('a split line, %s' % words, case, {
            'status': 'ok', 'verdict': 'proven', 'pairs_gone': 0, 'pairs_cut': cut, 'pairs_lost': 56 - left * (left - 1),
            'efi': efi, **kept})
        said = 'the fabric is split; routed is the part of s-0, with %d end ports' % left
        same('a split line, %s' % words, (said in case['message'], 'too much' in case['message']), (True, False))
    # Nor are there two parts as before where a switch without cables goes, and any cable of the line.
    print('Switch 2 "alone"', file=open(net, 'a'), flush=True)
    run('whatif', '--links=1', '--switches=1', net, code=2)


# The default engine, which re-routes from the tables of before -----------------------------------------------------

def rebalance():
    """No tables that are worse balanced than `rebalance` allows. Whole, the tree is at its bound (eight hosts below four
    cables send to 56 others), so no bound of what is left is above the EFI of its full route."""
    net = generate('tree', 'm=8,8', 'w=1,4')
    before = Before(net)
    kept, found = (ask('whatif', net, '--each=link', '--max=0', '-o', 'rebalance=%d' % limit) for limit in (0, 101))
    same(net, kept['engines'][0]['efi_before'], 8 * 56 // 4)
    for old, case in list(zip(kept['cases'], found['cases']))[::6]:
        efi = before.without(ends_of(case['case']))['efi']
        within = 100 * case['efi'] <= 101 * efi and 100 * old['efi'] <= 105 * efi
        same('without %s: EFI %d, with rebalance %d, and of a full route %d' % (case['case'], old['efi'], case['efi'], efi), within, True)


def rebalance_fires():
    """A torus with lanes by SL (five times the excess) less a cable: a re-route is worse than 1.05 of a full route, so others come:
    no worse, and where these are not those of a full route with fewer blocks."""
    by_sl = ('-o', 'any_sl=off')
    before = Before(generate('torus', 'dims=6x6', 'hosts=2'), *by_sl)
    said = [ask('whatif', before.net, '--each=link', '-o', 'rebalance=%d' % limit, *by_sl) for limit in (0, 101)]
    kept, found = ({c['case']: c for c in x['cases']} for x in said)
    fired, full = [name for name in found if found[name]['digest'] != kept[name]['digest']], 0
    for name in fired[::8]:
        want = before.without(ends_of(name))
        if found[name]['blocks_changed'] >= want['blocks_changed']:
            same_keys('rebalance, without %s' % name, found[name], want)
            full += 1
        same('rebalance, without %s: EFI %d' % (name, found[name]['efi']),
             100 * found[name]['efi'] <= 105 * max(want['efi'], said[0]['engines'][0]['efi_before']), True)
    same('rebalance fires, and lowers the load', (full > 0, sum(c['efi'] for c in found.values()) < sum(
        c['efi'] for c in kept.values())), (True, True))


def estimate():
    """Before many cases are run it is said how long they will take."""
    net = generate('tree', 'm=18,18,6', 'w=1,9,6')
    with subprocess.Popen([COMMAND, 'whatif', '--each=link', net], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        line = process.stderr.readline()
        process.kill()
    n, seconds = map(int, re.match(r'osmroutes: (\d+) cases, which take about (\d+) s;', line).groups())
    same('cases', (n, seconds > 10), (len(cables(net)), True))
    same('a few cases', run('whatif', '--links=1', '--cases=2', topology('tree-2')).stderr, '')


rebalance()
rebalance_fires()
estimate()
split()
for name in ('torus-4x4', 'tree-2', 'random-12'):
    before = Before(topology(name), *ENGINE)
    for part in (switches, at_random, one_at_a_time):
        part(before)
print('what breaks and what changes is what it is by hand')
