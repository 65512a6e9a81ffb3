# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The same tables, the same verdict: those of every engine on the small fabrics, and the same made wrong in a
known way, are given to check (dumps and stored file), route, its page and diff. All answers
must be the same, and the exit codes must follow; and what whatif says of the tables after a cable has gone is what they
say of those that route --previous makes then. mutants.py and chance.py say whether they are right.
"""
import collections
import json
import os
import re
import shutil
import sys

from command import at, run as run_it, topology
from dump import Dump

FABRICS = ['ring-5', 'torus-4x4', 'random-12', 'dragonfly-12', 'tree-2', 'kautz-2-2']
ENGINES = ['dfsssp', 'sssp', 'p2sssp', 'dmodk', 'angara']


def run(*words):
    done = run_it(*words)
    return done.returncode, done.stdout


def answers_of(row):
    """Between hosts, and with switches."""
    return dict(row['answers'], verdict=row['verdict'], **{
        'with switches, ' + key: answer for key, answer in row['with_switches'].items() if key != 'why'})


def opinions(net, folder):
    """{command: (exit code, answers)} on a directory of dumps."""
    code, text = run('check', '--json', folder)
    yield 'check', code, answers_of(json.loads(text)['verdict'])
    code, text = run('route', '--json', '--bisections=0', '--tables', folder, net)
    yield 'route --tables', code, answers_of(json.loads(text)['results'][0])
    code, page = run('report', '--bisections=0', '--tables', folder, net)
    data = json.loads(re.search(r'^const DATA = (\{.*?^\});$', page, re.M | re.S)[1])
    yield 'report', code, answers_of(dict(data['results'][0], answers={row['question']: row['answer'] for row in data['answers']}))
    _, text = run('diff', '--json', '--one-way', folder, folder)
    said = json.loads(text)['diff']
    yield 'diff', None, {'one_way': said['deadlock_free']['new'], 'verdict': said['verdict']['new'],
                         'with switches, one_way': said['with_switches']['deadlock_free']['new'],
                         'with switches, verdict': said['with_switches']['verdict']['new']}


def same(what, reference, others):
    name, code, answers = reference
    for other, other_code, other_answers in others:
        for key in answers.keys() & other_answers.keys():
            if answers[key] != other_answers[key]:
                sys.exit('%s: %s: %s says %s, %s says %s' % (what, key, name, answers[key], other,
                                                             other_answers[key]))
        if other_code is not None and other_code != (answers['verdict'] == 'refuted'):
            sys.exit('%s: %s: exit code %d, and the verdict is %s' % (what, other, other_code,
                                                                     answers['verdict']))
    if code != (answers['verdict'] == 'refuted'):
        sys.exit('%s: %s: exit code %d' % (what, name, code))


def without_cable(net, engine, folder):
    """whatif takes out a cable; its verdict and digest, and the tables of the next sweep made by route --previous."""
    with open(os.path.join(folder, 'opensm-subnet.lst'), encoding='utf-8') as file:
        lines = file.read().splitlines(keepends=True)
    ends = [re.findall(r'\{ (\S+) .*?\{([^{}]+)\} LID:\w+ PN:(\w+)', line) for line in lines]
    cable = next(e for e in ends if e[0][0].startswith('SW') and e[1][0].startswith('SW'))
    gone = {(name, port) for _, name, port in cable}
    broken, after = at('broken.lst'), at('after')
    with open(broken, 'w', encoding='utf-8') as file:
        file.writelines(line for line, e in zip(lines, ends) if (e[0][1], e[0][2]) not in gone)
    stored = at('stored')
    whole = json.loads(run('route', '--json', '-e', engine, '--save', stored, net)[1])['results'][0]
    shutil.rmtree(after, ignore_errors=True)
    code, text = run('route', '--json', '-e', engine, '--previous', stored, '--dump', after, broken)
    routed = json.loads(text)['results'][0]
    _, text = run('whatif', '--json', '-e', engine, '--link', '%s:%d' % (cable[0][1], int(cable[0][2], 16)), net)
    case = json.loads(text)['cases'][0]
    what = '%s on %s without %s' % (engine, os.path.basename(net), case['case'])
    if case['status'] != routed['status']:
        sys.exit('%s: whatif: %s, route --previous: %s' % (what, case['status'], routed['status']))
    if routed['status'] != 'ok':
        return None
    if case['digest'] != routed['digest']:
        sys.exit('%s: whatif has other tables than route --previous' % what)
    if case['any_sl'] != routed['proven']['any_sl']:
        sys.exit('%s: any SL: whatif says %s' % (what, case['any_sl']))
    between = json.loads(run('diff', '--json', '--one-way', folder, after)[1])['diff']['deadlock_free']['between']
    # Asked where old and new tables are proven by themselves.
    if between == 'refuted' and case['transition'] not in ('refuted', 'two rounds') and whole['claimed']['deadlock_free'] and routed['claimed']['deadlock_free']:
        sys.exit('%s: transition: whatif says %s, diff %s' % (what, case['transition'], between))
    same(what, ('route --previous', code, answers_of(routed)),
         list(opinions(broken, after)) + [('whatif', None, {'verdict': case['verdict']})])
    return case['verdict']


def drop_entry(dump):
    """The last switch loses its last entry."""
    del dump.lft[max(dump.lft)]


def drop_sl(dump):
    """SL 0 is dropped everywhere."""
    for table in dump.sl2vl.values():
        table[0] = 15


def no_sls(dump):
    dump.sl = None


def all_on_sl0(dump):
    dump.sl = dict.fromkeys(dump.sl, 0)


def main():
    counts = collections.Counter()
    bare, folder, saved = at('no-hosts'), at('dump'), at('saved')
    run('generate', '-o', bare, 'torus', 'dims=6', 'hosts=0')
    for net in [topology(fabric) for fabric in FABRICS] + [bare]:
        for engine in ENGINES:
            shutil.rmtree(folder, ignore_errors=True)
            what = '%s on %s' % (engine, os.path.basename(net))
            code, text = run('route', '--json', '-e', engine, '--dump', folder, '--ibdmchk', '--save', saved, net)
            said = json.loads(text)['results'][0]
            if said['status'] != 'ok':
                continue
            answers = answers_of(said)
            _, text = run('check', '--json', '--tables', saved, net)
            file_said = json.loads(text)['verdict']
            same(what, ('route', code, answers), list(opinions(net, folder)) + [
                ('check of the stored file', None,
                 answers_of(file_said))])
            counts[answers['verdict']] += 1
            counts['whatif ' + str(without_cable(net, engine, folder))] += 1
            dump = Dump(folder)
            for spoil in (drop_entry, drop_sl, no_sls) + (all_on_sl0,) * any(dump.sl.values()):
                spoilt, broken = dump.copy(), at('broken')
                spoil(spoilt)
                spoilt.write(broken)
                first, *rest = opinions(net, broken)
                same('%s, %s' % (what, spoil.__name__), first, rest)
                if spoil in (drop_entry, drop_sl) and net != bare and first[2]['with switches, verdict'] != 'refuted':
                    sys.exit('%s, %s: %s' % (what, spoil.__name__, first[2]))
                if spoil == no_sls and first[2]['one_way'] == 'refuted':
                    sys.exit('%s: refuted without path SLs' % what)
                counts[first[2]['verdict']] += 1
                counts['hosts alone'] += first[2]['verdict'] == 'proven' and first[2]['with switches, verdict'] == 'refuted'
    print('%d tables, the same verdict of all commands: %s' % (sum(counts.values()), dict(counts)))
    if min(counts[v] for v in ('proven', 'refuted', 'unknown', 'whatif proven')) < 5 or not counts['whatif refuted'] or not counts['hosts alone']:
        sys.exit('too few of one kind')


main()
