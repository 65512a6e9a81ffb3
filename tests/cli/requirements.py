# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`check --require --max-load --min-hosts --junit`, as continuous integration uses them. What is met is known from the fabric:
a tree needs one lane, routing a torus by shortest paths on one has credit loops, a tree whose leaves all use their first
spine carries what can be counted by hand. The commands of share/examples/gitlab-ci.yml are run."""
import os
import re
import shlex
import subprocess
import xml.etree.ElementTree

from command import COMMAND, ROOT, ask, at, run, same, topology

TREE, TORUS = topology('tree-2'), topology('torus-4x4')


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
met('replies', ['replies'], '-e', 'dfsssp', topology('cluster-192'), '-o', 'any_sl=off', '--require=replies')

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

# The commands of the recipe, in a directory as the recipe says it is.
try:
    import yaml
    with open(os.path.join(ROOT, 'share/examples/gitlab-ci.yml'), encoding='utf-8') as file:
        job = yaml.safe_load(file)['routing']
    for line in ['cp %s fabric.topo' % shlex.quote(TREE)] + job['script']:
        subprocess.run(['bash', '-ec', line], cwd=at(), check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, PATH=os.path.dirname(COMMAND) + ':' + os.environ['PATH']))
    counts = junit(job['artifacts']['reports']['junit'])[1]
    same('recipe', counts['failures'] + counts['errors'], 0)
except ImportError:
    pass
