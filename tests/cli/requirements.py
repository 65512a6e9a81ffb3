# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""requirements.py OSMROUTES PROJECT: `check --require --max-load --min-hosts --junit`, as continuous integration uses
them. What is met is known from the fabric: a tree needs one lane, routing a torus by shortest paths on one has credit
loops, a tree whose leaves all use their first spine carries what can be counted by hand. The commands of
share/examples/gitlab-ci.yml are run.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

COMMAND, PROJECT = os.path.abspath(sys.argv[1]), sys.argv[2]


def run(*words, code=0):
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit('%s: exit code %d, not %d:\n%s%s' % (' '.join(words), done.returncode, code, done.stdout, done.stderr))
    return done.stdout + done.stderr


def same(what, got, want):
    if got != want:
        sys.exit('%s: %s, expected %s' % (what, got, want))


def unmet(*words, code=1):
    """Names of the requirements that are not met."""
    said = json.loads(run('check', '--json', *words, code=code))
    return [row['name'] for row in said['requirements'] if not row['met']]


def junit(path):
    """({test case: its failure or error, or None}, the suite's own counts)."""
    suite = xml.etree.ElementTree.parse(path).getroot().find('testsuite')
    cases = {c.get('name'): (c[0].tag + ': ' + c[0].get('message')) if len(c) else None for c in suite.iter('testcase')}
    return cases, {key: int(suite.get(key)) for key in ('tests', 'failures', 'errors')}


def first_spine(folder):
    """All leaves of a 4-ary 2-tree send to hosts by port 5; how many routes that port then has."""
    path = os.path.join(folder, 'opensm-lfts.dump')
    with open(path, encoding='utf-8') as file:
        text = file.read()
    blocks = re.split(r'(?m)^(?=Unicast)', text)
    for i, block in enumerate(blocks):
        if 'leaf-' in block.split('\n', 1)[0]:
            blocks[i] = re.sub(r"(?m)^(0x\w+) 00[678]\b(?!.*'spine)", r'\1 005', block)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(''.join(blocks))
    return 4 * 12


def main(work):
    net = {n: os.path.join(PROJECT, 'topologies', n + '.net') for n in ('tree-2', 'torus-4x4', 'ring-5')}
    at = lambda name: os.path.join(work, name)
    everything = ['--require=deadlock-free,replies,any-sl,sl0,minimal', '--max-load=1.2']

    # The default engine with default options.
    same('tree', unmet('-e', 'dfsssp', net['tree-2'], *everything, '--junit', at('good.xml'), code=0), [])
    cases, counts = junit(at('good.xml'))
    same('cases', set(cases), {'reach', 'no_loops', 'lanes', 'deadlock-free', 'replies', 'any-sl', 'sl0', 'minimal',
                               'max-load'})
    same('good', (set(cases.values()), counts), ({None}, {'tests': len(cases), 'failures': 0, 'errors': 0}))

    # Shortest paths on one lane around a torus.
    same('torus', unmet('-e', 'sssp', net['torus-4x4'], everything[0], '--junit', at('bad.xml')),
         ['deadlock-free', 'replies', 'any-sl', 'sl0'])
    cases, counts = junit(at('bad.xml'))
    same('failures', counts['failures'], 4)
    if not cases['deadlock-free'].startswith('failure: refuted: credit loop of '):
        sys.exit('failure: %s' % cases['deadlock-free'])

    # Without --require replies do not count; by name they do.
    run('check', '-e', 'dfsssp', os.path.join(PROJECT, 'topologies/cluster-192.net'))
    same('replies', unmet('-e', 'dfsssp', os.path.join(PROJECT, 'topologies/cluster-192.net'), '-o', 'any_sl=off', '--require=replies'),
         ['replies'])

    # What is not known is not proven: the SLs of dfsssp's lanes are gone.
    run('route', '--dump', at('ring'), net['ring-5'], '-o', 'any_sl=off')
    os.unlink(at('ring/opensm-path-sl.dump'))
    run('check', at('ring'))
    same('unknown', unmet(at('ring'), '--require=deadlock-free'), ['deadlock-free'])

    # An engine that does not fit is an error of the suite.
    run('check', '-e', 'angara', net['tree-2'], '--junit', at('none.xml'), code=1)
    same('no tables', junit(at('none.xml'))[1], {'tests': 1, 'failures': 0, 'errors': 1})

    # A load that can be counted: 4 hosts of a leaf to 12 elsewhere over one cable instead of four.
    run('route', '--dump', at('one'), net['tree-2'])
    efi = first_spine(at('one'))
    verdict = json.loads(run('check', '--json', at('one')))['verdict']
    same('load', (verdict['efi'], verdict['efi_bound'], verdict['load']), (efi, efi // 4, 4.0))
    same('max-load', unmet(at('one'), '--max-load=3.9'), ['max-load'])
    same('max-load', unmet(at('one'), '--max-load=4', code=0), [])

    # 16 hosts are 12 without a leaf.
    run('whatif', '--switch=leaf-1', '--write=' + at('less.net'), net['tree-2'])
    same('min-hosts', unmet('-e', 'dfsssp', at('less.net'), '--min-hosts=13'), ['min-hosts'])
    same('min-hosts', unmet('-e', 'dfsssp', at('less.net'), '--min-hosts=12', code=0), [])
    run('check', '-e', 'dfsssp', net['tree-2'], '--junit=/nowhere/x.xml', code=2)
    run('check', net['tree-2'], code=2)

    recipe(work, net['tree-2'])


def recipe(work, net):
    """The commands of the recipe, in a directory as the recipe says it is."""
    try:
        import yaml
    except ImportError:
        return
    with open(os.path.join(PROJECT, 'share/examples/gitlab-ci.yml'), encoding='utf-8') as file:
        text = file.read()
    job = yaml.safe_load(text)['routing']
    for command in ['cp %s fabric.topo' % shlex.quote(net)] + job['script']:
        done = subprocess.run(['bash', '-ec', command], cwd=work, capture_output=True, text=True,
                              env=dict(os.environ, PATH=os.path.dirname(COMMAND) + ':' + os.environ['PATH']))
        if done.returncode:
            sys.exit('%s: exit code %d: %s' % (command, done.returncode, done.stdout + done.stderr))
    cases, counts = junit(os.path.join(work, job['artifacts']['reports']['junit']))
    same('recipe', counts['failures'] + counts['errors'], 0)
    print('%d test cases' % len(cases))


with tempfile.TemporaryDirectory() as folder:
    main(folder)
