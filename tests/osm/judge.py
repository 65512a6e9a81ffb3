# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What every scenario has in common: registration, and judging one running opensm."""
import os
import re
import shutil
import subprocess

import oracle
from osmtest import QOS, Failure, generate, osmroutes, patience, routed	# noqa: F401

SCENARIOS = {}		# name -> function


def scenario(name):
    """Registers a test: CTest calls it osm.NAME."""
    def register(function):
        assert name not in SCENARIOS, name
        SCENARIOS[name] = function
        return function
    return register


def expect(condition, sentence):
    if not condition:
        raise Failure(sentence)


def first(problems):
    return '%d problems, first: %s' % (len(problems), problems[0]) if problems else ''


class Claims:
    """What a log with log_details says of its last sweep."""

    WORDS = {'deadlock_free': 'deadlock-free', 'reversible': 'replies deadlock-free', 'any_sl': 'any SL',
             'multicast': 'with multicast'}

    def __init__(self, log, which=-1):
        sweeps = routed(log)
        expect(sweeps, 'the log has no JSON about a sweep of osmroutes')
        last = sweeps[which]
        fabric, vls, load, routes = (last[key] for key in ('fabric', 'vls', 'load', 'routes'))
        self.engine = last['engine']
        self.reused = last['outcome'] != 'routed' or bool(last['stable']['kept'])
        self.n_switches, self.n_channels = fabric['switches'], fabric['channels']
        self.n_ends, self.n_lids = fabric['end_ports'], fabric['lids']
        self.n_vls, self.budget, self.one_way = vls['used'], vls['available'], vls['needed_one_way']
        self.efi, self.efi_mean = load['efi'], load['efi_average']
        self.per_capacity, self.efi_bound = load['efi_per_capacity'], load['efi_bound']
        self.n_longer, self.n_routes, self.max_hops = routes['longer'], routes['all'], routes['max_hops']
        self.proven = {'reachable'} | {self.WORDS.get(claim, claim) for claim in last['check']['proven']}
        self.changed, self.entries = last['lft']['entries_changed'], last['lft']['entries']
        self.digest = last['digest']


def judge(fabric, opensm, ours):
    """Reads everything back and judges it: routes, balance as logged, credit loops, SL2VL, VLArb.

    ours: the engine of osmroutes that must have routed. What its log line claims must be what the oracle finds. Returns the
    oracle's Tables, with .rows for dfsssp.
    """
    # One VL, and no freedom from deadlock claimed: nothing to judge but LFTs and groups.
    tables = fabric.tables(*(['lft', 'mft'] if ours == 'sssp' else []))
    verdict = tables.routes()
    expect(not verdict.problems, 'routes: ' + first(verdict.problems))
    claims = Claims(opensm.log)
    check_claims(tables, verdict, claims, ours)
    if ours != 'sssp':
        expect('deadlock-free' in claims.proven, 'no deadlock freedom is claimed')
        check_loops(fabric, tables, claims.proven)
    return tables


def check_claims(tables, verdict, claims, engine):
    expect(claims.engine == engine, 'routed by %s instead of %s' % (claims.engine, engine))
    efi, mean = tables.edge_forwarding_index()
    expect(claims.efi == efi, 'the log says EFI %d, the switches say %d' % (claims.efi, efi))
    expect(abs(claims.efi_mean - mean) < 0.06,
           'the log says an average of %.1f, the switches say %.1f' % (claims.efi_mean, mean))
    # The bound has more cuts than the oracle, which has no search for them; that it is one: unit.bound.
    # Where links have several speeds, the bound is for their capacity: no whole number, and less than one below that of the cuts.
    least = tables.least_load()
    least -= claims.efi_bound % 1 and 1
    expect(least <= claims.efi_bound <= claims.per_capacity >= efi, 'the log says that the least load is %g, it is at least %d and at '
           'most %g' % (claims.efi_bound, least, claims.per_capacity))
    expect(claims.n_lids == len(tables.lids),
           '%d LIDs routed, %d in the fabric' % (claims.n_lids, len(tables.lids)))
    expect(claims.n_longer == verdict.n_longer,
           'the log says %d longer routes, it is %d' % (claims.n_longer, verdict.n_longer))
    expect(claims.max_hops == verdict.max_hops,
           'the log says at most %d hops, it is %d' % (claims.max_hops, verdict.max_hops))
    # Tables of an earlier fabric claim no more than they did, even if they could today.
    expect(('minimal' in claims.proven) == (verdict.n_longer == 0) or
           (claims.reused and not verdict.n_longer), 'minimal or not?')


def different_sl2vl(before, after):
    """SL2VL tables that two readings of the same fabric do not share, of ports that are up; an enhanced port 0 is one."""
    then, found = {s.guid: s for s in after.switches}, []
    for s in before.switches:
        t, ups = then[s.guid], sorted(set(s.next) | set(s.hosts))
        found += ['%s SL2VL %d to %d: %s, then %s' % (s.name, i, o, list(s.table(i, o)), list(t.table(i, o)))
                  for o in [0] * s.enhanced + ups for i in [0] + ups if i != o and s.table(i, o) != t.table(i, o)]
    return found


def groups(tables):
    """(MLID, SL) of the multicast groups that reach switches; the tests' groups are on SL 0."""
    return [(m, 0) for m in sorted({m for s in tables.switches for m in s.mft})]


def check_loops(asks, tables, claimed, rows=None):
    """What is claimed of deadlocks, by real path records (or by those given); used SLs travel on VLs that work
    and are served. asks: who has path_sls()."""
    rows = tables.rows = rows or tables.ask_sls(asks, any_sl='any SL' in claimed)
    missing = tables.unanswered(rows)
    expect(not missing, 'no path record for %d pairs, first: %s' % (len(missing), missing[:1]))
    if 'deadlock-free' in claimed:
        loops = tables.cycles(None if 'any SL' in claimed else rows,
                              replies='replies deadlock-free' in claimed,
                              multicast=groups(tables) if 'with multicast' in claimed else ())
        expect(not loops, 'credit loops on VLs %s' % loops)
    sls = sorted({sl for row in rows.values() for sl in row} - {255})
    problems = tables.sl2vl_problems(sls) + tables.vlarb_problems(sls)
    expect(not problems, first(problems))


def ibdmchk(opensm, tables, rows, lmc=0):
    """Debian's ibdmchk on OpenSM's own dumps: (paths between CAs it walked, True if it found no
    credit loop). It knows one-way traffic between CAs. Its exit status means nothing: it says its
    verdict and then crashes while it cleans up."""
    psl, slvl = opensm.dump('psl'), opensm.dump('slvl')
    with open(psl, 'w') as file:
        for e in tables.ends:
            if e.host:
                guid, _ = tables.switches[e.switch].hosts[e.port]	# of the node: its port's is another one
                file.writelines('%s %d %d\n' % (guid, lid, sl)
                                for lid, sl in zip(tables.lids, rows[e.lid]) if sl != 255)
    with open(slvl, 'w') as file:
        for s in tables.switches:
            ports = [0] + sorted(set(s.next) | set(s.hosts))
            for i in ports:
                for o in ports:
                    t = s.table(i, o)
                    file.write('%s %d %d %s\n' % (s.guid, i, o, ' '.join(
                        '0x%x%x' % (t[k], t[k + 1]) for k in range(0, 16, 2))))
    return say_ibdmchk(opensm.dir, psl, slvl, lmc)


def say_ibdmchk(folder, psl, slvl, lmc=0):
    """ibdmchk on a directory of dumps, with these files of SLs and SL2VL tables; None: there are none of these."""
    # Through a pipe the buffered end of its report would be lost in the crash; stdbuf is enough.
    out = subprocess.run(['stdbuf', '-oL', 'ibdmchk', '-s', os.path.join(folder, 'opensm-subnet.lst'), '-f',
                          os.path.join(folder, 'opensm.fdbs'), '-m', os.path.join(folder, 'opensm.mcfdbs'), '-c', psl,
                          *(['-d', slvl] if slvl else []), '-l', str(lmc)], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors='replace', timeout=patience(120)).stdout
    walked = re.search(r'Scanned:(\d+)\s+CA to CA paths', out)
    good, bad = 'no credit loops found' in out, 'credit loops in routing' in out
    expect(walked and good != bad, 'ibdmchk gave no verdict: ' + out[-300:])
    unreachable = re.findall(r'-E-.*', re.sub('-E- credit loops in routing', '', out))
    expect(not unreachable, 'ibdmchk: ' + (unreachable or [''])[0])
    return int(walked.group(1)), good


def second_opinion(fabric, opensm, tables):
    """ibdmchk must agree with the oracle."""
    if not shutil.which('ibdmchk'):
        return
    rows = tables.rows
    if len(rows) < len(tables.end_of):
        rows = tables.ask_sls(fabric, limit=len(tables.end_of) ** 2)
    _, free = ibdmchk(opensm, tables, rows, max(e.lmc for e in tables.ends))
    mine = not tables.cycles(rows, scope='hosts')
    expect(free == mine, 'ibdmchk says deadlock-free: %s, the oracle: %s' % (free, mine))


def command(opensm, *words):
    """Where opensm runs, so that the paths in its configuration mean the same."""
    return osmroutes(*words, '--opensm-conf', opensm.conf, cwd=opensm.dir)


def compare(what, opensm, *words):
    """The command says which tables the plugin has, with the same opensm.conf."""
    said = command(opensm, 'route', *words)
    got, vls, bound = said['results'][0]['digest'], said['vls_available'], said['results'][0]['efi_bound']
    live = Claims(opensm.log)
    expect(got == live.digest, '%s: the command says %s, and the plugin %s' % (what, got, live.digest))
    expect(vls == live.budget, '%s: %d virtual lanes, and in the plugin %d' % (what, vls, live.budget))
    expect(abs(bound - live.efi_bound) < 1e-6 * bound, '%s: least load %g, and in the plugin %g' % (what, bound, live.efi_bound))
