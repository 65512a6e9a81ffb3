# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""mutants.py OSMROUTES [N [FIRST]]

Tables made wrong on purpose: N mutants (default 430, more than 200 of them wrong; from number FIRST on) of right dumps, each judged three times.
Here, every packet that exists is sent through the tables hop by hop; `osmroutes check` reads the same files. Each fault found
here must be named there, with switch, LID and ports; nothing may be named there that is not found here.
Many mutants are not wrong (another shortest port, an SL that closes no cycle): those must stay unnoticed.
The oracle of the live tests says the same of what goes wrong and of credit loops.
"""
import collections
import json
import random
import sys

from command import at, run, topology
from dump import MLID, Dump, is_cyclic

N_MUTANTS, FIRST = (int(word) for word in (sys.argv[2:] + [430, 0][len(sys.argv) - 2:])[:2])	# chance.py has its own
BY_SL = ['-o', 'any_sl=off']
FABRICS = [('ring-5', BY_SL), ('torus-4x4', ['-o', 'heuristic=weakest', '-o', 'any_sl=off']), ('random-12', []),
           ('dragonfly-12', []), ('tree-2', []), ('kautz-2-2', BY_SL), ('dragonfly-12', BY_SL)]

# ---- the judge ---------------------------------------------------------------------------------------

class Judge:
    def __init__(self, dump, wide=False):
        self.d = dump
        self.faults = set()
        self.deps = {kind: set() for kind in ('one_way', 'multicast', 'replies', 'sl0', 'any_sl')}
        self.wide = wide
        for lid, end in dump.lids.items():
            for other, source in dump.lids.items():
                if source[2] != end[2] and (end[1] or source[1]):
                    self.send(source, lid, other)
        self.multicast()

    def send(self, source, lid, source_lid):
        """From one end port to the owner of lid, on the SL of the path and on that of the reply's."""
        d = self.d
        own = d.sl.get((source[2], lid))
        asked = d.sl.get((d.lids[lid][2], source_lid)) if d.lids[lid][1] else None
        if own is None and source[1] and d.lids[lid][1]:
            self.faults.add(('no SL', None, lid, None, None, None))
        # What a host's own table drops never enters the fabric; the loops that it would be part of are counted all the same.
        table = d.sl2vl.get((source[2], 0, 0)) if source[1] else None
        self.faults |= {('sender', source[2], None, None, None, sl) for sl in (own, asked)
                        if table and sl is not None and table[sl] >= 15}
        turns = list(self.turns(source, lid))
        self.arrives(turns, lid)
        if own is not None:
            self.wait(turns, own, ('one_way', 'multicast', 'replies'))
        if asked is not None:
            self.wait(turns, asked, ('replies',))
        for other in range(16 if self.wide else 0):
            self.wait(turns, other, ('any_sl',) if other else ('any_sl', 'sl0'), False)

    def turns(self, source, lid):
        """(switch, port in, port out), to where a packet leaves, is lost, or goes around once more."""
        (at, came, _), seen = source, set()
        while (turn := (at, came, self.d.lft.get((at, lid), 255))) not in seen:
            yield turn
            seen.add(turn)
            if (at, turn[2]) not in self.d.cable:
                return
            at, came = self.d.cable[at, turn[2]]

    def arrives(self, turns, lid):
        (root, root_port, _), seen = self.d.lids[lid], set()
        for at, _, port in turns:
            if at in seen:
                self.faults.add(('loop', None, lid, None, None, None))
            elif port == 255:
                self.faults.add(('hole', at, lid, None, port, None))
            elif at == root and port != root_port:
                self.faults.add(('wrong port', at, lid, None, port, None))
            elif at != root and (at, port) not in self.d.cable:
                self.faults.add(('dead end', at, lid, None, port, None))
            if at == root or at in seen:
                return
            seen.add(at)

    def wait(self, turns, sl, kinds, blame=True):
        """What a packet holds on each cable while it waits for the next one."""
        held = None
        for at, came, port in turns:
            if port == 0 or port > self.d.n_ports[at]:
                return
            vl = self.d.sl2vl.get((at, came, port), [255] * 16)[sl]
            if vl >= 15:
                if blame:
                    self.faults.add(('SL2VL', at, None, came, port, sl))
                return
            hold = (at, port, vl)
            if (at, port) in self.d.cable and held:
                for kind in kinds:
                    self.deps[kind].add((held, hold))
            held = hold

    def multicast(self):
        d = self.d
        members = {(s, p) for s, ports in d.groups.items() for p in ports
                   if (s, p) not in d.cable}
        for s, p in sorted(members):
            seen, todo, loop = {s}, [(s, p)], False
            while todo and not loop:
                at, came = todo.pop(0)
                for out in sorted(d.groups.get(at, set()) - {came}):
                    if (at, out) in d.cable:
                        there = d.cable[at, out]
                        loop |= there[0] in seen
                        seen.add(there[0])
                        todo.append(there)
            if loop:
                self.faults.add(('multicast loop', None, MLID, None, None, None))
            elif {m[0] for m in members} - seen:
                self.faults.add(('multicast split', s, MLID, None, None, None))
        for at, ports in d.groups.items():
            for out in ports:
                if (at, out) not in d.cable:
                    continue
                there, came = d.cable[at, out]
                for on in d.groups.get(there, set()) - {came}:
                    vl = self.vl_of_group(there, came, on)
                    if (there, on) in d.cable and vl < 15:
                        deps = {((at, out, held), (there, on, vl)) for held in self.vls_of_group(at, out)}
                        self.deps['multicast'] |= deps
                        self.deps['replies'] |= deps

    def vl_of_group(self, at, came, out):
        """Packets of groups are on SL 0."""
        return self.d.sl2vl.get((at, came, out), [15])[0]

    def vls_of_group(self, at, out):
        """Of packets from end ports and from switches that send the group here."""
        d = self.d
        came = [p for p in range(d.n_ports[at] + 1) if p == 0 or (at, p) in d.at or
                (at, p) in d.cable and d.cable[at, p][1] in d.groups.get(d.cable[at, p][0], set())]
        return {vl for vl in (self.vl_of_group(at, p, out) for p in came if p != out) if vl < 15}

    def cyclic(self, kind):
        return is_cyclic(self.deps[kind])


# ---- mistakes ----------------------------------------------------------------------------------------

def make_loop(d, rng):
    s, lid = rng.choice(sorted(k for k in d.lft if d.ends.get(k[1], (k[0],))[0] != k[0]))
    upstream = [(a, p) for (a, p), (b, q) in sorted(d.cable.items())
                if b == s and d.lft.get((a, lid)) == p]
    if not upstream:
        return
    back = [p for (a, p), (b, q) in sorted(d.cable.items()) if a == s and b == upstream[0][0]]
    d.lft[s, lid] = back[0]


def make_hole(d, rng):
    del d.lft[rng.choice(sorted(d.lft))]


def wrong_port(d, rng):
    key = rng.choice(sorted(d.lft))
    d.lft[key] = rng.randrange(d.n_ports[key[0]] + 1)


def wrong_last_port(d, rng):
    lid = rng.choice(sorted(d.ends))
    s = d.ends[lid][0]
    d.lft[s, lid] = rng.randrange(d.n_ports[s] + 1)


def swap_sls(d, rng):
    """Two, or half of them, as dumps of another sweep would have them."""
    keys = rng.sample(sorted(d.sl), 2 if rng.random() < 0.5 else len(d.sl) // 2)
    values = [d.sl[key] for key in keys]
    rng.shuffle(values)
    for key, value in zip(keys, values if len(keys) > 2 else values[::-1]):
        d.sl[key] = value


def other_sl(d, rng):
    for key in rng.sample(sorted(d.sl), 10):
        d.sl[key] = rng.randrange(4)


def one_lane(d, rng):
    """VL cycle: everything of some switches on one SL."""
    some = set(rng.sample(sorted(d.n_ports), len(d.n_ports) // 2 + 1))
    sl = rng.randrange(2)
    for (guid, lid) in d.sl:
        if any(e[2] == guid and e[0] in some for e in d.ends.values()):
            d.sl[guid, lid] = sl


def no_sl(d, rng):
    del d.sl[rng.choice(sorted(d.sl))]


def drop_sl(d, rng):
    d.sl2vl[rng.choice(sorted(k for k in d.sl2vl if k[0] in d.n_ports))][rng.randrange(8)] = 15


def sender_drops(d, rng):
    d.sl2vl[rng.choice(sorted(k for k in d.sl2vl if k[0] not in d.n_ports))][rng.randrange(8)] = 15


def wrong_sl2vl(d, rng):
    """Single pairs of ports, or most of them on one VL, as after a firmware that forgets tables."""
    keys = sorted(k for k in d.sl2vl if k[0] in d.n_ports)
    vl = rng.randrange(1 + max(max(v) for v in d.sl2vl.values() if max(v) < 15))
    for key in rng.sample(keys, 3 if rng.random() < 0.5 else len(keys) * 9 // 10):
        d.sl2vl[key] = [vl] * 16


def no_sl2vl(d, rng):
    del d.sl2vl[rng.choice(sorted(k for k in d.sl2vl if k[0] in d.n_ports))]


def multicast_loop(d, rng):
    links = sorted(k for k in d.cable if k[1] not in d.groups.get(k[0], set()))
    if links:
        s, p = rng.choice(links)
        t, q = d.cable[s, p]
        d.groups[s].add(p)
        d.groups[t].add(q)


def multicast_split(d, rng):
    s, p = rng.choice(sorted(k for k in d.cable if k[1] in d.groups.get(k[0], set())))
    d.groups[s].discard(p)


KINDS = [make_loop, make_hole, wrong_port, wrong_last_port, swap_sls, other_sl, one_lane, no_sl,
         drop_sl, sender_drops, wrong_sl2vl, no_sl2vl, multicast_loop, multicast_split]


# ---- both opinions -----------------------------------------------------------------------------------

def found_by_check(report, names):
    faults = set()
    for f in report['faults']:
        kind = f['kind']
        sw = int(f['guid'], 16) if 'guid' in f else None
        lid = f.get('lid')
        if kind == 'SL2VL' and 'end_port' in f:
            faults.add(('sender', names[f['end_port']], None, None, None, f['sl']))
        elif kind == 'SL2VL':
            faults.add((kind, sw, None, f['in'], f['out'], f['sl']))
        elif kind in ('loop', 'no SL', 'multicast loop'):
            faults.add((kind, None, lid, None, None, None))
        elif kind == 'multicast split':
            faults.add((kind, sw, lid, None, None, None))
        else:
            faults.add((kind, sw, lid, None, f['out'], None))
    return faults


def check_witness(judge, report):
    """Each step of the loop that was named waits for the next one, also by our packets."""
    steps = [(int(s['guid'], 16), s['port'], s['vl']) for s in report['loop']]
    return steps and all((a, b) in judge.deps['replies'] for a, b in zip(steps, steps[1:] + steps[:1]))


def ask_oracle(dump, judge, name, between_hosts):
    """Packets that are lost or loop have no defined dependencies: there the oracle follows none. Between hosts it judges alone."""
    tables, kinds = dump.tables(15), {fault[0] for fault in judge.faults}
    rows, groups = tables.rows, [(MLID, 0)] if dump.groups else []
    members = [end for end in tables.ends if end.port in tables.switches[end.switch].mft[MLID]]
    used = {sl for row in rows.values() for sl in row} - {255}
    lost = bool(kinds & {'loop', 'hole', 'wrong port', 'dead end'})
    said = {'routes': bool(tables.routes().problems), 'groups': bool(tables.multicast_problems(MLID, members))}
    mine = {'routes': lost, 'groups': bool(kinds & {'multicast loop', 'multicast split'})}
    if not lost:
        said.update(one_way=tables.cycles(rows) != [], replies=tables.cycles(rows, replies=True, multicast=groups) != [])
        mine.update({kind: judge.cyclic(kind) for kind in ('one_way', 'replies')})
        for kind, replies in ('one_way', False), ('replies', True):
            loops = tables.cycles(rows, replies=replies, scope='hosts', multicast=groups if replies else ())
            said['between hosts, ' + kind] = 'refuted' if loops else 'proven'
            mine['between hosts, ' + kind] = between_hosts[kind]
        if judge.wide:
            said['any_sl'], mine['any_sl'] = tables.cycles() != [], judge.cyclic('any_sl')
    if said != mine or not lost and kinds & {'SL2VL', 'sender'} and not tables.sl2vl_problems(used):
        sys.exit('%s: the oracle says %s, by hand it is %s, %s' % (name, said, mine, kinds))


def compare(dump, name, look=None, wide=False):
    """True if the tables are wrong; a difference of opinions ends the test. look(judge, report): more
    to compare."""
    dump.write(at())
    judge = Judge(dump, wide)
    done = run('check', '--json', '--max=100000', '--require=replies,switches', at())
    report = json.loads(done.stdout)
    got = found_by_check(report, dump.names)
    bouncing = {f[2] for f in judge.faults if f[0] == 'wrong port'}
    # The last switch sends a packet back into the fabric: a wrong port, and around it goes.
    extra = {f for f in got - judge.faults if not (f[0] == 'loop' and f[2] in bouncing)}
    if judge.faults - got or extra:
        sys.exit('%s: missed %s; false alarm %s' % (name, sorted(map(str, judge.faults - got))[:5],
                                                    sorted(map(str, extra))[:5]))
    answers = report['verdict']['with_switches']
    for kind in ('one_way', 'multicast', 'replies') + (('sl0', 'any_sl') if wide else ()):
        loop = judge.cyclic(kind)
        if kind in answers and answers[kind] != ('refuted' if loop else 'proven'):
            sys.exit('%s: %s: a loop here: %s, check says %s' % (name, kind, loop, answers))
    all_of_it = judge.cyclic('replies')
    if bool(report['loop']) != all_of_it:
        sys.exit('%s: loops with replies and multicast: here %s, check: %s' % (name, all_of_it,
                                                                             report['loop']))
    if all_of_it and not check_witness(judge, report):
        sys.exit('%s: the loop that is named is none: %s' % (name, report['loop']))
    ask_oracle(dump, judge, name, report['verdict']['answers'])
    if look:
        look(judge, report)
    wrong = bool(judge.faults) or all_of_it
    if done.returncode != wrong:
        sys.exit('%s: exit code %d, wrong: %s, verdict: %s' % (name, done.returncode, wrong, report['verdict']))
    return wrong


def main():
    rng = random.Random(1)
    counts, bases = collections.Counter(), []
    for name, options in FABRICS:
        path = at('%s-%d' % (name, len(bases)))
        run('route', '-e', 'dfsssp', '--dump', path, '--ibdmchk', *options, topology(name), code=0)
        base = Dump(path)
        base.multicast_tree(rng)
        if compare(base, name) and name != 'ring-5':
            print('%s with its group: wrong from the start, on the VL of the group' % name)
        bases.append((name, base))
    for i in range(FIRST, FIRST + N_MUTANTS):
        rng = random.Random(i)
        name, base = bases[i // len(KINDS) % len(bases)]
        mutate, mutant = KINDS[i % len(KINDS)], base.copy()
        mutate(mutant, rng)
        wrong = compare(mutant, 'mutant %d of %s, %s' % (i, name, mutate.__name__), wide=i % 5 == 0)
        counts[mutate.__name__, wrong] += 1
    print('%d mutants, %d of them wrong' % (N_MUTANTS, sum(n for k, n in counts.items() if k[1])))
    for mutate in KINDS:
        n = mutate.__name__
        print('%-16s %3d wrong and found, %3d harmless and not blamed' % (
            n, counts[n, True], counts[n, False]))
    if any(not counts[m.__name__, True] for m in KINDS) and N_MUTANTS >= 200:
        sys.exit('one kind of mistake was never really wrong: the test says too little')


if __name__ == '__main__':
    main()
