# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`check --require --max-load --min-hosts --junit`, as continuous integration uses them. What is met is known from the fabric:
a tree needs one lane, routing a torus by shortest paths on one has credit loops, a tree whose leaves all use their first
spine carries what can be counted by hand. The commands of share/examples/gitlab-ci.yml are run."""
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree

from command import COMMAND, ROOT, ask, at, run, same, topology
from dump import Dump

TREE, TORUS = topology('tree-2'), topology('torus-4x4')
with open(TREE, encoding='utf-8') as net:
    N_HOSTS = len(re.findall(r'^(?:Hca|Ca)\b', net.read(), re.M))


def junit(name):
    """({test case: its failure or error, or None}, the suite's own counts)."""
    suite = xml.etree.ElementTree.parse(at(name)).getroot().find('testsuite')
    cases = {c.get('name'): (c[0].tag + ': ' + c[0].get('message')) if len(c) else None for c in suite.iter('testcase')}
    return cases, {key: int(suite.get(key)) for key in ('tests', 'failures', 'errors')}


def first_spine(text):
    """All leaves of a 4-ary 2-tree send to hosts by port 5."""
    return ''.join(re.sub(r"(?m)^(0x\w+) 00[678]\b(?!.*'spine)", r'\1 005', block) if 'leaf-' in block.split('\n', 1)[0] else block
                   for block in re.split(r'(?m)^(?=Unicast)', text))


def met(what, missing, *words):
    """Names of the requirements that are not met."""
    said = ask('check', *words, code=int(bool(missing)))
    same(what, [row['name'] for row in said['requirements'] if not row['met']], missing)


# The default engine with default options.
met('tree', [], '-e', 'dfsssp', TREE, '--require=deadlock-free,replies,any-sl,sl0,minimal', '--max-load=1.2', '--junit', at('good.xml'))
cases, counts = junit('good.xml')
same('cases', cases, dict.fromkeys(('reach', 'no_loops', 'lanes', 'deadlock-free', 'replies', 'any-sl', 'sl0', 'minimal', 'max-load')))
same('good', counts, {'tests': len(cases), 'failures': 0, 'errors': 0})

# Shortest paths on one lane around a torus.
met('torus', ['deadlock-free', 'replies', 'any-sl', 'sl0'], '-e', 'sssp', TORUS,
    '--require=deadlock-free,replies,any-sl,sl0,minimal', '--junit', at('bad.xml'))
cases, counts = junit('bad.xml')
same('failures', (counts['failures'], cases['deadlock-free'].startswith('failure: refuted: credit loop of ')), (4, True))

# Without --require replies do not count; by name they do.
run('check', '-e', 'dfsssp', topology('cluster-192'), code=0)
met('replies', ['replies'], '-e', 'dfsssp', topology('cluster-192'), '-o', 'any_sl=off', '-o', 'reversible_sl=off', '--require=replies')

# What is not known is not proven: the SLs of dfsssp's lanes are gone.
run('route', '--dump', at('ring'), topology('ring-5'), '-o', 'any_sl=off', code=0)
os.unlink(at('ring/opensm-path-sl.dump'))
run('check', at('ring'), code=0)
met('unknown', ['deadlock-free'], at('ring'), '--require=deadlock-free')

# An engine that does not fit is an error of the suite.
run('check', '-e', 'angara', TREE, '--junit', at('none.xml'), code=1)
same('no tables', junit('none.xml')[1], {'tests': 1, 'failures': 0, 'errors': 1})

# A load that can be counted: 4 hosts of a leaf to 12 elsewhere over one cable instead of four.
run('route', '--dump', at('one'), TREE, code=0)
with open(at('one/opensm-lfts.dump'), 'r+', encoding='utf-8') as file:
    text = first_spine(file.read())
    file.seek(0)
    file.write(text)
verdict = ask('check', at('one'), code=0)['verdict']
same('load', (verdict['efi'], verdict['efi_bound'], verdict['load']), (4 * 12, 12, 4.0))
met('max-load', ['max-load'], at('one'), '--max-load=3.9')
met('max-load', [], at('one'), '--max-load=4')

# 16 hosts are 12 without a leaf.
run('whatif', '--switch=leaf-1', '--write=' + at('less.net'), TREE, code=0)
met('min-hosts', ['min-hosts'], '-e', 'dfsssp', at('less.net'), '--min-hosts=13')
met('min-hosts', [], '-e', 'dfsssp', at('less.net'), '--min-hosts=12')
run('check', '-e', 'dfsssp', TREE, '--junit=/nowhere/x.xml', code=2)
run('check', TREE, code=2)

# Leaves a, b, c with a host each and spines 1, 2, 3 in a ring, a 1 c 3 b 2: packets between hosts go up and down once. A spine
# that has no cable to the leaf of a host must go by another leaf, and a leaf by another spine to the port 0 of a spine. Around
# the ring in one direction these are a loop, which packets between hosts alone never close.
RING = {'a': '12', 'b': '23', 'c': '31', '1': 'ac', '2': 'ab', '3': 'bc'}


def ring(name, *routes):
    """Its dumps; routes: 'b2a ha': the switches before the last one send by it to the LID of host a; 'a2b3 3': of spine 3."""
    net = ''.join('Switch 3 "%s"\n' % x + ''.join('[%d] "%s"[%d]\n' % (i + 1, y, RING[y].index(x) + 1) for i, y in enumerate(ys)) +
                  '[3] "h%s"[1]\n\n' % x * x.isalpha() for x, ys in RING.items())
    with open(at('ring.net'), 'w', encoding='utf-8') as file:
        file.write(net + ''.join('Ca 1 "h%s"\n[1] "%s"[3]\n\n' % (x, x) for x in 'abc'))
    run('route', '--dump', at(name), '--ibdmchk', at('ring.net'), code=0)
    dump = Dump(at(name))
    lid_of = {dump.name_of[guid]: lid for lid, (_, _, guid) in dump.ends.items()}
    for route in routes:
        path, to = route.split()
        for x, y in zip(path, path[1:]):
            dump.lft[dump.names[x], lid_of[to]] = RING[x].index(y) + 1
    dump.sl = dict.fromkeys(dump.sl, 0)
    for table in dump.sl2vl.values():
        table[:] = [0] * 16
    dump.write(at(name))
    return lid_of


def alarm(name, needs):
    """Harmless to hosts, and said to be so; needs: one of these packets is named."""
    met(name, [], at(name), '--require=deadlock-free,replies,minimal')
    met(name, ['switches'], at(name), '--require=replies,switches', '--junit', at('ring.xml'), '--prom', at('ring.prom'))
    said = run('check', at(name), code=0).stdout
    rows = re.findall(r'^(?:verdict .*?|deadlock-free) +(proven|refuted)$', said, re.M)
    same(name, rows, ['proven', 'proven', 'refuted'])
    need = re.search(r'(?m)^with packets to and from port 0 of switches: one-way traffic can deadlock: credit loop of 6 channels.*; '
                     r'it needs packets to or from port 0 of switches, as (.*)$', said)[1]
    if need not in needs:
        sys.exit('%s: the loop needs %s, not %s' % (name, needs, need))
    same('JUnit of ' + name, [x for x in junit('ring.xml')[0].items() if x[1]],
         [('switches', 'failure: ' + ask('check', at(name), code=0)['verdict']['with_switches']['why'].join(('refuted: ', '')))])
    with open(at('ring.prom'), encoding='utf-8') as file:
        gauges = dict(re.findall(r'^osmroutes_check_(answer\w*)\{question="one_way"\} (\S+)$', file.read(), re.M))
    same('gauges of ' + name, gauges, {'answer': '1', 'answer_with_switches': '-1'})


lids = ring('to', 'a2b3 3', 'b3c1 1', 'c1a2 2', '3b2a ha', '2a1c hc', '1a2b hb')
alarm('to', {'to LID %d (switch %s)' % (lids[x], x) for x in '123'} | {'from switch 1 to LID %d (hb)' % lids['hb']})
lids = ring('from', '3b2a ha', '2a1c hc', '1c3b hb', 'a2b3 3', 'b3c1 1', 'c3b2 2')
alarm('from', {'from switch %s to LID %d (%s)' % (x, lids[y], y) for x, y in (('3', 'ha'), ('2', 'hc'), ('1', 'hb'))} |
      {'to LID %d (switch 2)' % lids['2']})
# Neither direction turns at leaf b.
ring('neither', '3c1a ha', '2a1c hc', '1c3b hb', 'a1c3 3', 'b3c1 1', 'c1a2 2')
met('neither', [], at('neither'), '--require=deadlock-free,switches')

# The commands of the recipe, in a directory as the recipe says it is.
try:
    import yaml
    with open(os.path.join(ROOT, 'share/examples/gitlab-ci.yml'), encoding='utf-8') as file:
        job = yaml.safe_load(file)['routing']
    # This fabric has fewer hosts than the number that the recipe's reader replaces.
    for line in ['cp %s fabric.topo' % shlex.quote(TREE)] + [s.replace('--min-hosts=300', '--min-hosts=%d' % N_HOSTS) for s in job['script']]:
        subprocess.run(['bash', '-ec', line], cwd=at(), check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, PATH=os.path.dirname(COMMAND) + ':' + os.environ['PATH']))
    counts = junit(job['artifacts']['reports']['junit'])[1]
    same('recipe', counts['failures'] + counts['errors'], 0)
except ImportError:
    pass
