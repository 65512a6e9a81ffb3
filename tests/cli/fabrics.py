# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fabrics.py OSMROUTES own|field

Every fabric of the project, or from the field, routed from its file by dfsssp with eight lanes and with one, by sssp and,
where it is a fat tree, by dmodk. The oracle of the live tests judges the dumps: every LID is reached, nothing loops, and what
`osmroutes route` says of load, length and deadlock is what the oracle finds; on the smaller ones ibdmchk agrees with both.
What routes here is what the plugin runs: osm.up compares the bytes.
"""
import glob
import os
import shutil
import sys

from command import ask, at, topology
from dump import Dump
import judge
from osmtest import Failure, find_fabric, real_fabrics

KIND = sys.argv[2]
LARGE = 300	# end ports, from which on ibdmchk is not asked: it needs minutes

# By name, so that what is missing in the directory is noticed.
FIELD = ('doc-sample-1 doc-sample-2 doc-sample-3 doc-sample-4 plafrim-2013 psmn-x5-2020 selene-storage-2021 '
         'tartu-2014 topograph-dgx-2025 topograph-dgx-2025-noan ufm-lab-2021 ibutils/12-ary-2-tree '
         'ibutils/12-node-spaced ibutils/2-ary-4-tree ibutils/32nodes-3lvl-is1 ibutils/32nodes-3lvl-is1-cbb2 '
         'ibutils/4-ary-2-tree ibutils/4-ary-2-tree-links-at-same-rank-1 ibutils/4-ary-3-tree ibutils/4-ary-4-tree '
         'ibutils/FullGnu ibutils/IS1-16 ibutils/IS3-128 ibutils/RhinoBased512Nodes ibutils/clusters-PartialGazelle '
         'ibutils/clusters-SingleGazelle ibutils/merge-2-ary-4-tree').split()
# What stock ftree mostly refuses.
TREES = ('tree-2 tree-3 cluster-192 selene-storage-2021 topograph-dgx-2025 psmn-x5-2020 tartu-2014 '
         'ibutils/IS3-128 ibutils/clusters-PartialGazelle').split()
RUNS = (('dfsssp', 8), ('dfsssp', 1), ('sssp', 8), ('dmodk', 8))


class Said:
    """What `osmroutes route` says, under the names of judge.Claims."""

    def __init__(self, report):
        said = report['results'][0]
        self.engine, self.status, self.reused = said['tables'], said['status'], False
        if self.status != 'ok':
            return
        self.n_lids, self.n_longer, self.max_hops = report['lids'], said['routes_longer'], said['max_hops']
        self.n_routes, self.no_path = said['routes'], said['no_path']
        self.efi, self.efi_mean = said['efi'], said['efi_mean']
        self.per_capacity, self.efi_bound = said['efi_per_capacity'], said['efi_bound']
        self.proven = {judge.Claims.WORDS.get(claim, claim) for claim, proven in said['proven'].items() if proven}


def route(net, engine, n_vls, folder, *words):
    return Said(ask('route', '--bisections=0', '-e', engine, '--vls=%d' % n_vls, '--dump', folder, *words, net))


def judge_tables(said, engine, n_vls, tables):
    verdict = tables.routes()
    judge.expect(not verdict.problems, 'routes: %s' % verdict.problems[:1])
    judge.check_claims(tables, verdict, said, engine)
    judge.expect((said.n_routes, said.no_path) == (verdict.n_routes, verdict.n_no_path), 'routes, or pairs without one')
    if engine == 'sssp':
        return
    judge.expect('deadlock-free' in said.proven, 'no deadlock freedom is claimed')
    judge.expect(n_vls > 1 or 'any SL' in said.proven, 'one lane, and not safe with any SL')
    any_sl = 'any SL' in said.proven
    loops = tables.cycles(None if any_sl else tables.rows, replies='replies deadlock-free' in said.proven)
    judge.expect(not loops, 'credit loops on VLs %s' % loops)
    missing = tables.unanswered(tables.rows)
    judge.expect(not missing, 'no SL for %d pairs, first: %s' % (len(missing), missing[:1]))
    # Ports by which no route leaves are the subnet manager's: their tables in the dump are those of a new switch.
    sls = sorted({sl for row in tables.rows.values() for sl in row} - {255})
    problems = tables.sl2vl_problems(sls)
    judge.expect(not problems, '%s' % problems[:1])


def ask_ibdmchk(net, engine, n_vls, tables):
    folder = at('long')
    route(net, engine, n_vls, folder, '--ibdmchk')
    free = judge.say_ibdmchk(folder, os.path.join(folder, 'opensm-path-sl.dump'), os.path.join(folder, 'opensm-sl2vl.dump'))[1]
    mine = not tables.cycles(tables.rows, scope='hosts')
    judge.expect(free == mine, 'ibdmchk says deadlock-free: %s, the oracle: %s' % (free, mine))
    return free


def one(name, counts):
    net = find_fabric(name)
    for engine, n_vls in RUNS:
        if engine == 'dmodk' and name not in TREES:
            continue
        try:
            folder = at('dump')
            shutil.rmtree(folder, ignore_errors=True)
            said = route(net, engine, n_vls, folder)
            judge.expect(said.status == 'ok', said.status)
            tables = Dump(folder).tables(n_vls)
            judge_tables(said, engine, n_vls, tables)
            if engine in ('dfsssp', 'sssp') and n_vls == 8 and tables.channels() and len(tables.ends) < LARGE and \
               shutil.which('ibdmchk'):
                counts['ibdmchk'].add(ask_ibdmchk(net, engine, n_vls, tables))
            counts['tables'] += 1
        except Failure as f:
            sys.exit('%s, %s with %d VLs: %s' % (name, engine, n_vls, f))


def main():
    if KIND == 'own':
        names = [os.path.basename(path)[:-4] for path in sorted(glob.glob(topology('*')))]
    elif real_fabrics():
        names = FIELD
    else:
        print('skipped: no directory of real fabrics beside the project (OSR_FABRICS may name one)')
        sys.exit(77)
    counts = {'tables': 0, 'ibdmchk': set()}
    for name in names:
        one(name, counts)
    print('%d fabrics, %d tables' % (len(names), counts['tables']))
    if KIND == 'own' and shutil.which('ibdmchk') and len(counts['ibdmchk']) < 2:
        sys.exit('sssp on a ring has a credit loop, and ibdmchk did not find it')


main()
