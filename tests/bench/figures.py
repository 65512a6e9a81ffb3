#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The figures of the default engine on fabrics of every kind, beside those of the last revision: see scripts/study figures."""
import argparse
import concurrent.futures
import csv
import glob
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'cli'), os.path.join(HERE, '..', 'osm')]
import shapes  # noqa: E402
from osmtest import BUILD, ROOT, real_fabrics  # noqa: E402

COMMAND = os.path.join(BUILD, 'src/cli/osmroutes')
COLUMNS = ['fabric', 'options', 'efi', 'bound', 'ebb', 'longer', 'vls', 'layers', 'any_sl', 'replies', 'cpu_ms', 'memory_kb',
           'fault_efi', 'fault_entries', 'fault_blocks', 'fault_any_sl']
CASES = 4	# dead cables, one at a time
# What may be lost against the committed figures: a share of the mean, of the worst fabric, fabrics whose proof is lost.
MEAN, WORST, LOST = 0.005, 0.05, 2
CPU = 1.25	# of all fabrics together; one fabric on a busy machine says little

# Not trees, none of which the code was tuned on: each also with fewer lanes.
GENERATED = {
    'random-64-128a': 'random switches=64 links=128 seed=51', 'random-64-128b': 'random switches=64 links=128 seed=52',
    'random-64-128c': 'random switches=64 links=128 hosts=4 seed=53', 'random-128-300a': 'random switches=128 links=300 seed=51',
    'random-128-300b': 'random switches=128 links=300 hosts=2 seed=52', 'random-64-256': 'random switches=64 links=256 hosts=4 seed=51',
    'dragonfly-6': 'dragonfly a=6 h=3 p=3', 'dragonfly-4': 'dragonfly a=4 h=2 p=2', 'slimfly-7': 'slimfly q=7 p=5',
    'kautz-3-4': 'kautz b=3 n=4', 'torus-6x6x6': 'torus dims=6x6x6 hosts=2', 'torus-8x8': 'torus dims=8x8 hosts=2',
    'torus-5x5x5': 'torus dims=5x5x5 hosts=2', 'mesh-8x8': 'mesh dims=8x8 hosts=2'}
SHAPES = [('tree', s) for s in range(20001, 20013)] + [(k, s) for k in ('megafly', 'jellyfish') for s in (20101, 20102)]
BIG = {'jellyfish-3400': 'random switches=3400 links=27200 seed=51', 'dragonfly-5000': 'dragonfly a=20 h=13 p=1 g=250',
       'tree-11664': 'tree m=18,18,36 w=1,18,18'}
QUICK = ['random-64-128a', 'dragonfly-4', 'torus-8x8', 'mesh-8x8', 'tree-20001', 'tree-20004', 'megafly-20101', 'cluster-192',
         'kautz-2-2', 'parallel']


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--quick', action='store_true', help='ten small fabrics, as in the test suite')
    p.add_argument('--full', action='store_true', help='also 3,400 and 5,000 switches, and 11,664 hosts')
    p.add_argument('--only', metavar='WORD', help='only fabrics whose name has this')
    p.add_argument('--update', action='store_true', help='write what was measured over the committed figures')
    p.add_argument('--csv', metavar='FILE', default=os.path.join(HERE, 'figures.csv'), help='the figures to compare with')
    p.add_argument('--output', metavar='FILE', help='write what was measured there')
    p.add_argument('--jobs', type=int, default=2, help='fabrics measured at a time (2)')
    p.add_argument('--without', metavar='NAME', help='a mechanism of without.tsv switched off, beside the build as it is; exit '
                   'status 1 if nothing gets worse; all: one after the other; fit: only see that the edits fit the sources')
    return p.parse_args()


# ---- fabrics ------------------------------------------------------------------------------------

def generate(words):
    def make(path):
        subprocess.run([COMMAND, 'generate', '-o', path] + words.split(), check=True)
        return path
    return make


def cases(args):
    """(name, options, maker of the net file); options are those of the command."""
    found = [(name, [], generate(words)) for name, words in GENERATED.items()]
    found += [(name, ['--vls=%d' % n], make) for name, _, make in found for n in (1, 2, 4)]
    found += [(name, ['-o', 'any_sl=off'], make) for name, options, make in found if not options]
    found += [('%s-%d' % (kind, seed), [], lambda path, k=kind, s=seed: shapes.KINDS[k](s).write(path))
              for kind, seed in SHAPES] + [('tree-700', [], generate('tree m=7,10,10 w=1,10,10'))]
    field = real_fabrics()
    paths = glob.glob(os.path.join(ROOT, 'topologies', '*.net'))
    for pattern in ('*.topo', 'ibutils/*.net', 'ibutils/*.topo'):
        paths += glob.glob(os.path.join(field, pattern)) if field else []
    found += [(os.path.splitext(os.path.basename(p))[0], [], lambda _, p=p: p) for p in paths if 'RhinoBased10K' not in p]
    if args.full:
        found += [(name, [], generate(words)) for name, words in BIG.items()]
    if args.quick:
        found = [c for c in found if c[0] in QUICK and not c[1]]
    return sorted((c for c in found if not args.only or args.only in c[0]), key=lambda c: (c[0] in BIG, c[0], c[1]))


# ---- one fabric ---------------------------------------------------------------------------------

def ask(what, path, options, more):
    run = subprocess.run([COMMAND, what, path, '--json', '-e', 'dfsssp', '--config=none', '--multicast'] +
                         options + more, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return json.loads(run.stdout)
    except ValueError:
        return {'message': run.stderr.strip()}


def proven(text):
    return int(text == 'proven')


def measure(case):
    name, options, make = case
    row = dict.fromkeys(COLUMNS, '')
    row.update(fabric=name, options=' '.join(options))
    with tempfile.TemporaryDirectory() as work:
        path = make(os.path.join(work, 'fabric.net'))
        tables = ask('route', path, options, ['--bisections=100', '--seed=1', '--threads=1'])
        fault = ask('whatif', path, options, ['--links=1', '--cases=%d' % (1 if name in BIG else CASES), '--seed=1', '--threads=1'])
    told = tables.get('results', [{}])[0]
    if told.get('status') != 'ok':
        row['efi'] = 'fails'
        return row
    row.update(efi='%.6g' % told['efi_per_capacity'], bound='%.6g' % told['efi_bound'], ebb='%.4f' % told.get('ebb', 0), longer=told['routes_longer'],
               vls=told['vls'], layers=told['layers'], any_sl=proven(told['with_switches']['any_sl']),
               replies=proven(told['with_switches']['replies']), memory_kb=told['memory_kb'],
               cpu_ms='%.1f' % told['route_ms']['cpu'])
    if told['routes']:
        row['longer'] = '%.3f' % (100.0 * told['routes_longer'] / told['routes'])
    after = [c for c in fault.get('cases', []) if c['status'] == 'ok']
    if after:
        def mean(key):
            return '%.1f' % (sum(c[key] for c in after) / len(after))
        row.update(fault_efi=mean('efi'), fault_entries=mean('entries_changed'), fault_blocks=mean('blocks_changed'),
                   fault_any_sl=sum(c['any_sl'] for c in after))
    return row


# ---- beside the committed figures ---------------------------------------------------------------

def number(row, key):
    return float(row[key]) if row.get(key) not in ('', 'fails', None) else None


def ratios(pairs, key):
    """(now / before, name) of every fabric where both are there and not 0."""
    both = [(number(now, key), number(was, key), now) for now, was in pairs]
    return [(a / b, '%s %s' % (now['fabric'], now['options'])) for a, b, now in both if a and b]


def say_ratio(pairs, key, title, sign):
    """One line; true: worse than the limits. sign: 1 if more is worse, -1 if less is."""
    found = ratios(pairs, key)
    if not found:
        return False
    mean = math.exp(sum(math.log(r) for r, _ in found) / len(found))
    worst = max(found, key=lambda f: sign * f[0])
    print('%-24s x%.4f   worst x%.3f %s' % (title, mean, worst[0], worst[1] if worst[0] != 1 else ''))
    return sign * (mean - 1) > MEAN or sign * (worst[0] - 1) > WORST


def say_proofs(pairs, key, title):
    lost = [now['fabric'] + ' ' + now['options'] for now, was in pairs if (number(now, key) or 0) < (number(was, key) or 0)]
    sums = [sum(number(row, key) or 0 for row in rows) for rows in zip(*pairs)]
    print('%-24s %d, before %d; lost: %s' % (title, sums[0], sums[1], ', '.join(lost) or 'none'))
    return len({name.split()[0] for name in lost}) > LOST


def compare(rows, old):
    """Says what moved; true: worse than the limits."""
    known = {(r['fabric'], r['options']): r for r in old}
    pairs = [(now, known[now['fabric'], now['options']]) for now in rows if (now['fabric'], now['options']) in known]
    moved = 0
    for now, was in pairs:
        changes = ['%s %s -> %s' % (k, was[k], now[k]) for k in COLUMNS[2:]
                   if str(was[k]) != str(now[k]) and k not in ('cpu_ms', 'memory_kb')]
        moved += bool(changes)
        if changes:
            print('%s %s: %s' % (now['fabric'], now['options'], ', '.join(changes)))
    if not pairs:
        return False
    print('%d of %d moved' % (moved, len(pairs)))
    fails = sum(now['efi'] == 'fails' and was['efi'] != 'fails' for now, was in pairs)
    bad = [fails > 0, say_ratio(pairs, 'efi', 'EFI', 1), say_ratio(pairs, 'ebb', 'eBB', -1),
           say_proofs(pairs, 'any_sl', 'any SL'), say_proofs(pairs, 'replies', 'replies')]
    for key, title in (('fault_efi', 'dead cable: EFI'), ('fault_entries', 'dead cable: entries'),
                       ('fault_blocks', 'dead cable: blocks'), ('memory_kb', 'memory')):
        say_ratio(pairs, key, title, 1)
    say_proofs(pairs, 'fault_any_sl', 'dead cable: any SL')
    longer = [((number(n, 'longer') or 0) - (number(w, 'longer') or 0), n['fabric'], n['options']) for n, w in pairs]
    print('%-24s %+.3f points, worst %+.3f %s %s' % (('longer routes', sum(x[0] for x in longer) / len(longer)) + max(longer)))
    cpu = [sum(number(row, 'cpu_ms') or 0 for row in rows) for rows in zip(*pairs)]
    print('%-24s x%.2f (%.0f ms)%s' % ('CPU', cpu[0] / max(cpu[1], 1e-9), cpu[0], '; refused: %d' % fails if fails else ''))
    return any(bad) or cpu[0] > CPU * cpu[1] + 500


# ---- without a mechanism --------------------------------------------------------------------------

def ablations():
    """{name: ([(file, text, text in its place)], what it buys)}."""
    found = {}
    with open(os.path.join(HERE, 'without.tsv')) as file:
        for line in file:
            if line.strip() and not line.startswith('#'):
                name, path, text, other, buys = line.rstrip('\n').split('\t')
                found.setdefault(name, ([], buys))[0].append((path, *(s.encode().decode('unicode_escape') for s in (text, other))))
    return found


def edited(path, text, other):
    """The file with this edit."""
    with open(os.path.join(ROOT, path)) as file:
        source = file.read()
    if source.count(text) != 1:
        sys.exit('without.tsv: %s has %d times: %s' % (path, source.count(text), text))
    return source.replace(text, other)


def build_without(edits, folder):
    """The command of a copy of the sources with these edits, each in a file of its own."""
    listed = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z'], check=True, stdout=subprocess.PIPE, text=True).stdout
    for path in filter(None, listed.split('\0')):
        if os.path.isfile(os.path.join(ROOT, path)):
            os.makedirs(os.path.join(folder, 'sources', os.path.dirname(path)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, path), os.path.join(folder, 'sources', path))
    for path, text, other in edits:
        with open(os.path.join(folder, 'sources', path), 'w') as file:
            file.write(edited(path, text, other))
    for words in (['-S', os.path.join(folder, 'sources'), '-B', os.path.join(folder, 'build'), '-G', 'Ninja', '-DOSR_TESTS=OFF',
                   '-DOSR_PLUGIN=OFF', '-DOSR_MANUAL=OFF', '-DCMAKE_C_FLAGS=-w'],
                  ['--build', os.path.join(folder, 'build'), '--target', 'src/cli/osmroutes']):
        made = subprocess.run(['cmake'] + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            sys.exit(made.stdout[-3000:])
    return os.path.join(folder, 'build', 'src/cli/osmroutes')


def losses(pairs):
    """What is worse in pairs of (without, with): in the mean, or by far on one fabric."""
    for key, sign, mean, worst in (('efi', 1, 0.001, 0.02), ('ebb', -1, 0.001, 0.02), ('fault_efi', 1, 0.001, 0.05),
                                   ('fault_blocks', 1, 0.02, 0.5), ('memory_kb', 1, 0.1, 1)):
        found = [r for r, _ in ratios(pairs, key)]
        if found and (sign * sum(math.log(r) for r in found) / len(found) > mean or max(sign * (r - 1) for r in found) > worst):
            yield key
    for key in ('any_sl', 'replies', 'fault_any_sl'):
        if sum((number(n, key) or 0) - (number(w, key) or 0) for n, w in pairs) < 0:
            yield key
    if sum((number(n, 'longer') or 0) - (number(w, 'longer') or 0) for n, w in pairs) > 0.01 * len(pairs):
        yield 'longer'
    if sum(number(n, 'cpu_ms') or 0 for n, _ in pairs) > 1.1 * sum(number(w, 'cpu_ms') or 0 for _, w in pairs):
        yield 'cpu_ms'


def ablate(args):
    """True: some mechanism buys nothing."""
    global COMMAND
    known, whole, useless = ablations(), None, []
    if args.without == 'fit':
        print('%d edits fit' % sum(bool(edited(*edit)) for edits, _ in known.values() for edit in edits))
        return False
    if args.without != 'all' and args.without not in known:
        sys.exit('no mechanism "%s": %s' % (args.without, ', '.join(known)))
    for name in known if args.without == 'all' else [args.without]:
        with tempfile.TemporaryDirectory(prefix='osr-without-') as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            if not whole:
                whole = list(pool.map(measure, cases(args)))
            with_it, COMMAND = COMMAND, build_without(known[name][0], folder)
            rows = list(pool.map(measure, cases(args)))
            COMMAND = with_it
        compare(rows, whole)
        lost = list(losses(list(zip(rows, whole))))
        print('without %s (%s): worse: %s' % (name, known[name][1], ', '.join(lost) or 'nothing'), flush=True)
        useless += [] if lost else [name]
    return bool(useless)


def write(path, rows):
    with open(path, 'w', newline='') as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        table.writeheader()
        table.writerows(rows)


def main():
    args = arguments()
    if args.without:
        return int(ablate(args))
    old = []
    if os.path.exists(args.csv):
        with open(args.csv, newline='') as file:
            old = list(csv.DictReader(file))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(measure, cases(args)))
    worse = compare(rows, old)
    if args.output:
        write(args.output, rows)
    if args.update:
        known = {(r['fabric'], r['options']): r for r in old}
        known.update({(r['fabric'], r['options']): r for r in rows})
        write(args.csv, [known[key] for key in sorted(known, key=lambda k: (k[0] in BIG, k))])
    elif worse:
        print('Worse than the limits: mean %.1f %%, worst fabric %.0f %%, %d proofs, CPU x%.2f.' %
              (100 * MEAN, 100 * WORST, LOST, CPU))
    return 0 if args.update or not worse else 1


if __name__ == '__main__':
    sys.exit(main())
