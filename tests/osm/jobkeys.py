# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One key for a whole job: flows of every stage of every collective, counted in what the switches hold.

Trees, hosts and stages are drawn anew each time. OSR_SEED, printed at the beginning, draws them again."""
import collections
import json
import os
import random
import re
import secrets
import subprocess

from carried import carry, simulator, whole
from judge import expect, generate, scenario
from keys import HEAVY, Client, hosts_of, keyed, keys_sweeps, lft_by_offset, no_loops, same, same_but, with_keys
from osmtest import COMMAND, Fabric, Opensm, patience, wait_for

SEED = int(os.environ.get('OSR_SEED', secrets.randbelow(10 ** 6)))


def draw(rng, levels):
    """(words of the generator, hosts, up-ports of a switch by level): a tree with as many cables up as down."""
    if levels == 2:
        m, leaves, p = rng.choice((4, 6, 8, 12)), rng.randrange(4, 11), rng.choice((1, 2))
        return ('m=%d,%d' % (m, leaves), 'w=1,%d' % (m // p), 'p=1,%d' % p), m * leaves, (m,)
    m, middle, top = rng.choice((3, 4, 5)), rng.choice((3, 4)), rng.randrange(3, 6)
    return ('m=%d,%d,%d' % (m, middle, top), 'w=1,%d,%d' % (m, middle)), m * middle * top, (m, middle)


# Collectives: every stage as pairs of ranks ---------------------------------------------------------

def shifts(n):
    """All-to-all by pairs; ring, dissemination and Bruck are some of these."""
    return [[(i, (i + k) % n) for i in range(n)] for k in range(1, n)]


def binomial(n):
    stages = []
    k = 1
    while k < n:
        there = [(i, i + k) for i in range(k) if i + k < n]
        stages += [there, [(b, a) for a, b in there]]
        k *= 2
    return stages


def exchanges(n):
    return [[(i, i ^ k) for i in range(n) if i ^ k < n] for k in range(1, 1 << (n - 1).bit_length())]


# What the switches do with them ---------------------------------------------------------------------

class Ways:
    """Ways of a job's flows at its LID offset, as sets of (switch, port) between switches."""

    def __init__(self, tables, ends, offset):
        self.tables, self.ends, self.offset, self.known = tables, ends, offset, {}

    def of(self, a, b):
        key = self.ends[a].switch, b
        if key not in self.known:
            way = self.tables.way(self.ends[a], self.ends[b], self.offset)
            expect(way, 'rank %d does not reach rank %d at offset %d' % (a, b, self.offset))
            self.known[key] = way
        return self.known[key][:-1]

    def count(self, stages):
        """Most flows on a cable in each stage."""
        return [max(collections.Counter(c for a, b in stage for c in self.of(a, b)).values(), default=0)
                for stage in stages]

    def most(self, stages):
        return max(self.count(stages), default=0)

    def passed(self):
        """(switch, LID) that some flow of the job asks: not at the end, where its port is the same for all offsets."""
        return {(self.tables.switches[s].guid, self.ends[b].lid + self.offset)
                for a in range(len(self.ends)) for b in range(len(self.ends)) if a != b for s, _ in self.of(a, b)}


def sub_trees(tables):
    """For each level the sub-tree of every leaf: what is connected below the level above."""
    leaves = {e.switch for e in hosts_of(tables)}
    depth, level, n_levels = {}, leaves, 0
    while level:
        depth.update(dict.fromkeys(level, n_levels))
        level = {u for s in level for u, _ in tables.switches[s].next.values()} - set(depth)
        n_levels += 1
    for top in range(n_levels - 1):
        root = {}
        for leaf in leaves:
            if leaf in root:
                continue
            reached, todo = {leaf}, [leaf]
            while todo:
                s = todo.pop()
                more = {u for u, _ in tables.switches[s].next.values() if depth[u] <= top} - reached
                reached |= more
                todo += more
            root.update((s, leaf) for s in reached & leaves)
        yield root


def follow_each_other(tables, ends):
    for root in sub_trees(tables):
        runs = [root[e.switch] for e in ends]
        n_runs = 1 + sum(a != b for a, b in zip(runs, runs[1:]))
        if n_runs != len(set(runs)):
            return False
    return True


def exchange_exists(tables, ends, ups):
    """2^k ranks: are there digits, powers of two, that tell the hosts of each sub-tree apart?"""
    room, n = 1, len(ends)
    for root, up in zip(sub_trees(tables), ups):
        room *= 1 << up.bit_length() - 1
        if max(collections.Counter(root[e.switch] for e in ends).values()) > room:
            return False
    return not n & (n - 1)


def ends_of(tables, said):
    by_guid = {int(e.guid, 16): e for e in hosts_of(tables)}
    return [by_guid[int(g, 16)] for g in said['hosts']]


def ask_job(client, hosts, **more):
    said = client.must(op='job', hosts=[e.guid for e in hosts], **more)
    if said['keys'][0]['state'] == 'waiting':
        client.until(event='key', app=said['app'], key=0, state='active')
    return said


def judge_job(tables, said, hosts):
    """The answer, and its flows in the switches."""
    ends, key, n = ends_of(tables, said), said['keys'][0], len(hosts)
    expect([hosts[i].guid for i in said['places']] == [e.guid for e in ends], 'places of the ranks: %s' % said)
    expect(follow_each_other(tables, ends), 'hosts of a sub-tree do not follow each other')
    ways = Ways(tables, ends, key['offset'])
    got = ways.most(shifts(n))
    expect(got == key['contention'] and key['bound'] <= max(1, got), 'contention %d, the answer: %s' % (got, key))
    expect(key['fits'] == (got <= 1 and not key['left_out']), 'contention is %d, the answer: %s' % (got, key))
    if key['fits']:
        expect(ways.most(binomial(n)) <= 1, 'it fits, and binomial trees have contention')
    if key['exchanges']:
        expect(ways.most(exchanges(n)) <= 1, 'an exchange of i and i xor k has contention')
    return ways


@scenario('jobs.one')
def one(workdir):
    """Jobs at random hosts of whole trees: one request, one sweep, one LID offset; every stage of shifts has one flow a
    cable wherever the windows fit; other offsets and switches that no flow passes keep their entries; in the end the base."""
    print('OSR_SEED=%d' % SEED)
    rng = random.Random(SEED)
    gains = []
    for i, levels in enumerate((2, 3)):
        words, n_hosts, ups = draw(rng, levels)
        cables = ups[0]
        print(*words)
        netfile = generate(os.path.join(workdir, 'tree-%d.net' % i), 'tree', *words)
        with keyed(workdir, netfile, 1, name='opensm-%d' % i) as (fabric, opensm):
            opensm.wait_quiet()
            before = fabric.tables()
            all_hosts = hosts_of(before)
            sizes = [rng.randrange(3, cables + 1), 8, rng.randrange(4, n_hosts // 2)] + [16] * (n_hosts > 32)
            leaves = rng.sample(sorted({e.switch for e in all_hosts}), 3)
            draws = [(rng.sample(all_hosts, n), 0) for n in sizes]
            # Whole leaves take all planes. The first LIDs would do, but the programs use others.
            draws.append(([e for e in all_hosts if e.switch in leaves], 1))
            for hosts, offset in draws:
                n, mark = len(hosts), len(opensm.log)
                with Client(os.path.join(workdir, 'keys.sock')) as client:
                    said = ask_job(client, hosts, name='job', offset=offset)
                    key = said['keys'][0]
                    expect(key['fits'] or (n > cables and not offset), '%d hosts, and each could have a plane: %s' % (n, key))
                    after = fabric.tables()
                    ways = judge_job(after, said, hosts)
                    expect(key['exchanges'] or not exchange_exists(after, ways.ends, ups), 'exchanges could be free: %s' % key)
                    base = Ways(before, ends_of(before, said), 0).most(shifts(n))
                    gains.append((base, key['contention']))
                    log = opensm.log[mark:]
                    expect(HEAVY not in log and 'LIGHT SWEEP' not in log, 'there was a discovery')
                    if key['offset']:
                        expect(keys_sweeps(log) == 1, '%d sweeps for one request' % keys_sweeps(log))
                        same_but(before, after, {key['offset']})
                        old, new = lft_by_offset(before), lft_by_offset(after)
                        changed = {k for o in old for k in old[o] if old[o][k] != new[o][k]}
                        expect(changed <= ways.passed(), 'entries changed where no flow passes')
                        no_loops(after)
                    else:
                        expect(base == key['contention'] and same(before, fabric), 'the base serves it: %s' % key)
                    client.must(op='withdraw', app=said['app'])
                wait_for('the base routing', lambda: same(before, fabric), 30)
        opensm.check_log()
    print('contention by the base, by the key:', *gains)


@scenario('jobs.base')
def base(workdir):
    """A job on whole leaves, which D-Mod-K serves: offset 0, no sweep, no entry; also with one LID a host. The list is in
    an order of the tree, so ranks are as they were."""
    words, _, _ = draw(random.Random(SEED), 2)
    print('OSR_SEED=%d' % SEED, *words)
    netfile = generate(os.path.join(workdir, 'tree.net'), 'tree', *words)
    for lmc in (0, 1):
        with keyed(workdir, netfile, lmc, name='lmc-%d' % lmc) as (fabric, opensm):
            opensm.wait_quiet()
            before = fabric.tables()
            leaves = sorted({e.switch for e in hosts_of(before)})[:3]
            hosts = [e for e in hosts_of(before) if e.switch in leaves]
            mark = len(opensm.log)
            with Client(os.path.join(workdir, 'keys.sock')) as client:
                said = ask_job(client, hosts)
                key = said['keys'][0]
                expect(said['places'] == list(range(len(hosts))), 'an order of the tree was changed: %s' % said)
                expect(key['offset'] == 0 and key['contention'] == 1, 'whole leaves: %s' % key)
                judge_job(before, said, hosts)
                opensm.wait_quiet()
                expect(keys_sweeps(opensm.log[mark:]) == 0 and same(before, fabric), 'something was sent')
                client.refused('LID offset 9', op='job', hosts=[e.guid for e in hosts], offset=9)
                client.refused('whole number', op='job', hosts=[e.guid for e in hosts], offset=-1)
                client.refused('twice', op='job', hosts=[hosts[0].guid, hosts[1].guid, hosts[0].guid])
        opensm.check_log()


@scenario('jobs.command')
def command(workdir):
    """`osmroutes key job` on a list with ranks a host: environment, rank file and table tell of one order, and what the
    switches hold; with the number of a job of Slurm the same; withdrawn, the base is back."""
    rng, path = random.Random(SEED), os.path.join(workdir, 'keys.sock')
    words, _, (cables, _) = draw(rng, 3)
    print('OSR_SEED=%d' % SEED, *words)
    netfile = generate(os.path.join(workdir, 'tree.net'), 'tree', *words)
    tools = os.path.join(workdir, 'bin')
    os.makedirs(tools)

    def key(*more):
        done = subprocess.run([COMMAND, 'key', '--socket=' + path, *more], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=patience(60), env=dict(os.environ, PATH=tools + ':' + os.environ['PATH']))
        expect(done.returncode == 0, '%s: %s' % (more, done.stderr))
        return done.stdout

    with keyed(workdir, netfile, 1) as (fabric, opensm):
        opensm.wait_quiet()
        before = fabric.tables()
        names = {e.name: e for e in hosts_of(before)}
        own = rng.sample(sorted(names), max(4, cables))
        with open(os.path.join(tools, 'squeue'), 'w') as file:	# all that the command wants of Slurm
            file.write('#!/bin/sh\n[ "$*" = "-h -o %%N -j 4711" ] && echo %s\n' % ','.join(own))
        os.chmod(os.path.join(tools, 'squeue'), 0o755)
        ranks = os.path.join(workdir, 'ranks')
        for hosts in (','.join('%s,%s' % (h, h) for h in own), '4711'):
            said = json.loads(key('job', hosts, '--rankfile=' + ranks, '--json', '--name=whole'))
            with open(ranks) as file:
                rows = [re.fullmatch(r'rank (\d+)=(\S+) slot=(\d+)\n', line).groups() for line in file]
            each = 1 if hosts == '4711' else 2
            expect([int(r) for r, _, _ in rows] == list(range(each * len(own))), 'ranks: %s' % rows)
            expect([n for _, n, s in rows if s == '0'] == [h['host'] for h in said['hosts']], 'hosts: %s' % rows)
            expect([int(s) for _, _, s in rows] == list(range(each)) * len(own), 'slots: %s' % rows)
            row = said['keys'][0]
            expect(row['fits'] and row['contention'] == 1 and row['state'] == 'active', row)
            tables = fabric.tables()
            got = Ways(tables, [names[h['host']] for h in said['hosts']], row['offset']).most(shifts(len(own)))
            expect(got == 1, 'contention %d in the switches' % got)
            key('withdraw', str(row['app']))
            wait_for('the base routing', lambda: same(before, fabric), 30)
        env = dict(line.split('=') for line in key('job', ','.join(own), '--env').splitlines() if line[0] != '#')
        expect(list(env) == ['OSMROUTES_APP', 'UCX_IB_LID_PATH_BITS'], env)
        key('withdraw', env['OSMROUTES_APP'])
    opensm.check_log()


# Several jobs, and damaged trees ---------------------------------------------------------------------

def at_once(rng, jobs, draws):
    """The most loaded cable, each job at a random stage of a shift, for each draw; jobs: Ways."""
    most = []
    for _ in range(draws):
        count = collections.Counter()
        for ways in jobs:
            n = len(ways.ends)
            by = rng.randrange(1, n)
            count.update(c for i in range(n) for c in ways.of(i, (i + by) % n))
        most.append(max(count.values()))
    return most


@scenario('jobs.several')
def several(workdir):
    """Jobs that share no host, at one LID offset: each alone as if no other were there; all together below the base, and
    without contention where their planes sum to no more than there are. Given back one after the other."""
    print('OSR_SEED=%d' % SEED)
    rng = random.Random(SEED)
    for name, words, sizes in (('few', ('m=12,12', 'w=1,12'), (6, 8, 10)),
                               ('many', ('m=12,12', 'w=1,12'), (18,) * 8),
                               ('deep', ('m=6,6,6', 'w=1,6,6'), (36,) * 6)):
        netfile = generate(os.path.join(workdir, name + '.net'), 'tree', *words)
        with keyed(workdir, netfile, 1, name=name) as (fabric, opensm):
            opensm.wait_quiet()
            before = fabric.tables()
            hosts = rng.sample(hosts_of(before), sum(sizes))
            with Client(os.path.join(workdir, 'keys.sock')) as client:
                said = []
                for n in sizes:
                    said.append(ask_job(client, [hosts.pop() for _ in range(n)]))
                after = fabric.tables()
                jobs = [Ways(after, ends_of(after, s), s['keys'][0]['offset']) for s in said]
                expect(all(s['offsets'] in ([0], [1]) and s['keys'][0]['fits'] for s in said), 'offsets: %s' % [s['keys'] for s in said])
                expect(max(ways.most(shifts(len(ways.ends))) for ways in jobs) == 1, 'contention within a job')
                got = at_once(rng, jobs, 100)
                base = at_once(rng, [Ways(before, w.ends, 0) for w in jobs], 100)
                tops = [{c for c in range(len(after.switches)) if after.switches[c].guid in {g for g, _ in w.passed()}} -
                        {e.switch for e in hosts_of(after)} for w in jobs]
                print(name, 'all together, base %.2f, keys %.2f' % (sum(base) / 100, sum(got) / 100))
                expect(sum(got) < sum(base), 'keys together are above the base: %s, %s' % (got, base))
                if name == 'few':
                    expect(sum(map(len, tops)) > 12 or max(got) == 1, 'planes %s, together %s' % (tops, got))
                no_loops(after)
                for s in said:
                    client.must(op='withdraw', app=s['app'])
            wait_for('the base routing', lambda: same(before, fabric), 30)
        opensm.check_log()


@scenario('jobs.damaged')
def damaged(workdir):
    """A job on a tree without some cables: what the answer says of contention is what the switches do, and its mean is
    below the base; a cable of it goes, and comes back with all others: as on a whole tree. The base is that of an opensm
    without keys."""
    print('OSR_SEED=%d' % SEED)
    rng = random.Random(SEED)
    netfile = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=6,4,4', 'w=1,6,4')
    with Fabric(netfile, workdir) as fabric:
        with with_keys(fabric, workdir, 1) as opensm:
            opensm.wait_up()
            whole = fabric.tables()
            cables = [(v, p) for v, p, _ in rng.sample(whole.cables(), 4)]
            opensm.change(*[fabric.unlink(*c) for c in cables])
            opensm.wait_quiet()
            broken = fabric.tables()
            hosts = rng.sample(hosts_of(broken), rng.randrange(12, 33))
            with Client(os.path.join(workdir, 'keys.sock')) as client:
                said = ask_job(client, hosts)
                key = said['keys'][0]
                tables = fabric.tables()
                ways = judge_job(tables, said, hosts)
                stages = shifts(len(hosts))
                base = Ways(broken, ways.ends, 0).count(stages)
                print('mean contention, base %.2f, key %.2f' % tuple(sum(c) / len(stages) for c in (base, ways.count(stages))))
                expect(sum(ways.count(stages)) <= sum(base), 'the key is above the base')
                no_loops(tables)
                mine = next(c for c in ((tables.switches[s].name, p) for a in range(1, len(hosts)) for s, p in ways.of(0, a))
                            if c not in cables)
                opensm.change(fabric.unlink(*mine))
                client.until(event='notice', app=said['app'])
                client.until(event='key', app=said['app'], key=0, state='active')
                opensm.wait_quiet()
                status = client.must(op='status')['apps'][0]
                now = fabric.tables()
                expect(Ways(now, ends_of(now, said), key['offset']).most(stages) == status['keys'][0]['contention'],
                       'contention after a lost cable: %s' % status)
                no_loops(now)
                opensm.change(*[fabric.relink(*c) for c in cables + [mine]])
                opensm.wait_quiet()
                client.must(op='withdraw', app=said['app'])
                said = ask_job(client, hosts)
                expect(said['keys'][0]['fits'], 'on the mended tree: %s' % said['keys'])
                judge_job(fabric.tables(), said, hosts)
                client.must(op='withdraw', app=said['app'])
                opensm.wait_quiet()
                last = fabric.tables()
        with Opensm(fabric, 'dmodk', plugin=True, name='without', options={'lmc': 1, 'qos': 'FALSE'}) as plain:
            plain.wait_up()
            expect(last.bytes_of_tables() == fabric.tables().bytes_of_tables(), 'the base after all jobs')


def middles(tables, ways):
    """The switches without hosts that the flows of a job pass."""
    leaves = {e.switch for e in hosts_of(tables)}
    return {s for a in range(len(ways.ends)) for b in range(len(ways.ends)) if a != b for s, _ in ways.of(a, b)} - leaves


@scenario('jobs.clean-planes')
def clean_planes(workdir):
    """Two cables of a job's leaves go, to middle switches that its key has used: the next key of the job takes others, as long
    as there are enough, and has no contention."""
    print('OSR_SEED=%d' % SEED)
    rng = random.Random(SEED)
    netfile = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=12,8', 'w=1,12')
    with keyed(workdir, netfile, 1) as (fabric, opensm), Client(os.path.join(workdir, 'keys.sock')) as client:
        opensm.wait_quiet()
        tables = fabric.tables()
        hosts = rng.sample(hosts_of(tables), 12)
        said = ask_job(client, hosts, offset=1)
        used = middles(tables, judge_job(fabric.tables(), said, hosts))
        client.must(op='withdraw', app=said['app'])
        broken = rng.sample(sorted(used), 2)
        leaves = [tables.switches[hosts[i].switch] for i in range(2)]
        opensm.change(*[fabric.unlink(leaf.name, p) for leaf, m in zip(leaves, broken)
                        for p, (u, _) in leaf.next.items() if u == m])
        opensm.wait_quiet()
        said = ask_job(client, hosts, offset=1)
        tables = fabric.tables()
        ways = judge_job(tables, said, hosts)
        again = middles(tables, ways)
        print('middle switches', used, 'broken', broken, 'then', again)
        if len(again) <= 10:
            expect(not again & set(broken) and ways.most(shifts(12)) == 1, 'a key passes middle switches with dead cables')
    opensm.check_own_log()


@scenario('jobs.packets')
def packets(workdir):
    """Stages of a job carried packet by packet, with credits: by its key no packet waits for another, by the base many do."""
    print('OSR_SEED=%d' % SEED)
    rng = random.Random(SEED)
    netfile = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=6,6,6', 'w=1,6,6')
    with keyed(workdir, netfile, 1) as (fabric, opensm), Client(os.path.join(workdir, 'keys.sock')) as client:
        opensm.wait_quiet()
        before = fabric.tables('lft', 'sl2vl')
        said = ask_job(client, rng.sample(hosts_of(before), 36))
        after = fabric.tables('lft', 'sl2vl')
        ends, offset = ends_of(after, said), said['keys'][0]['offset']
        stages = sorted(range(1, 36), key=lambda k: Ways(before, ends, 0).count([shifts(36)[k - 1]]))[-3:]
        for by in stages:
            got = []
            for tables, at in ((before, 0), (after, offset)):
                send = {e.lid: [ends[(i + by) % 36].lid + at] for i, e in enumerate(ends)}
                got.append(carry(simulator.text_of(tables, None, send=send), packets=36 * 200, load=1))
                whole(got[-1], 'stage %d at offset %d' % (by, at))
            print('stage %d, base and key:' % by, *[(round(g['throughput'], 3), g['wait'], g['latency']) for g in got])
            # Packets of hosts that share no cable never wait; all others do.
            expect(not got[1]['wait'] and got[0]['wait'] > 0, 'stage %d: %s' % (by, got))
    opensm.check_log()
