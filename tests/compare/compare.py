#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Our engines, every stock engine and the bound on random fabrics and real ones: see scripts/compare."""
import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'bench'), os.path.join(HERE, '..', 'osm')]
import bound  # noqa: E402
import runs  # noqa: E402
import shapes  # noqa: E402
from osmtest import Failure, Skip, need_tools, real_fabrics, warn  # noqa: E402

STOCK = ['minhop', 'updn', 'ftree', 'dfsssp']
NEAR = 1.01		# worse by more than this counts
NEAR_EBB = 1.02		# of eBB: with a lower EFI a LID may enter its leaf over several links
BISECTIONS = 200
# Of CI. Trees after the first two, and the dragonfly, once took more lanes than stock, were far above the bound, or lost eBB.
QUICK = [('tree', '1-2,9022,10019,10138,11042'), ('megafly', '1-2'), ('dragonfly', '30')]
QUICK_RATIO = 1.15	# over what one next hop allows, on these trees at most


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--quick', action='store_true', help='six trees, two Megaflies, a dragonfly; exit status 1 if ours is worse than stock')
    p.add_argument('--kind', default='tree', help='comma-separated: %s, real (default tree)' %
                   ', '.join(shapes.KINDS))
    p.add_argument('--seeds', default='1-40', help='first-last,... (default 1-40)')
    p.add_argument('--large', action='store_true', help='trees of up to 4,000 hosts, not 600')
    p.add_argument('--engines', default='dfsssp', help='of ours, comma-separated; the first one is judged')
    p.add_argument('--stock', default=','.join(STOCK), help='of stock; empty: none')
    p.add_argument('--only', metavar='WORD', help='only fabrics whose title has this')
    p.add_argument('--cache', metavar='DIR', help='keep what does not change: fabrics, stock, bounds')
    p.add_argument('--json', metavar='FILE', help='write everything measured there')
    p.add_argument('--markdown', metavar='FILE', help='write a table there: ours, every stock engine, the bound')
    return p.parse_args()


# ---- one fabric ---------------------------------------------------------------------------------

def figures(net, lfts):
    """What osr-pairs and the bisections say of tables, whoever made them."""
    pairs = json.loads(subprocess.run([runs.PAIRS, net, lfts, str(BISECTIONS)], check=True,
                                      stdout=subprocess.PIPE).stdout)
    return {'efi': pairs['efi_capacity'] if pairs['rates'] > 1 else pairs['efi'],
            'longer': pairs['longer'], 'lost': pairs['unreachable'], 'ebb': pairs.get('ebb', 0)}


class Stock(runs.Bench):
    """One sweep of each stock engine; figures as of ours."""

    def _take(self, variant, outcome, line, log):
        # updn leaves its tables to a static function of OpenSM, whose time nobody can take.
        entry = next((e for e in line['engines'] if e['name'] == variant.engine), {'cpu_ms': 0})
        outcome.cpu.append(entry['cpu_ms'])
        if line['used'] == variant.engine:
            outcome.served = line['used']
            runs._read_log(outcome, variant, log)
        else:
            outcome.said = 'fails, %s serves' % (line['used'] or 'none')

    def _judge(self, outcome, lfts):
        outcome.tables = figures(self.netfile, lfts)


def stock(net, workdir, names):
    bench = Stock(net, workdir, 0)
    got = bench.run(['stock ' + n for n in names], 1, lambda key, outcome: None)
    rows = {}
    for n in names:
        o = got['stock ' + n]
        rows[n] = dict(o.tables, lanes=o.vls or 1, cpu=min(o.cpu)) if o.ok else {'fails': o.said}
    return rows


def ours(net, workdir, names):
    rows = {}
    for n in names:
        out = os.path.join(workdir, 'dump-' + n)
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        done = subprocess.run([runs.COMMAND, 'route', '--json', '-e', n, '--dump', out, '--bisections=0', net],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        row = json.loads(done.stdout)['results'][0]
        if row['status'] != 'ok':
            rows[n] = {'fails': row['message']}
            continue
        rows[n] = dict(figures(net, os.path.join(out, 'opensm-lfts.dump')), lanes=row['layers'], any_sl=row['proven']['any_sl'],
                       cpu=row['route_ms']['cpu'])
    return rows


def cached(args, key, make):
    if not args.cache:
        return make()
    path = os.path.join(args.cache, key + '.json')
    if os.path.exists(path):
        with open(path) as file:
            return json.load(file)
    value = make()
    with open(path, 'w') as file:
        json.dump(value, file)
    return value


def measure(args, title, net, workdir):
    with open(net, 'rb') as file:
        key = hashlib.sha1(file.read()).hexdigest()[:16]
    row = {'title': title, 'net': net, 'engines': {}}
    row['bound'] = cached(args, key + '-bound', lambda: bound.bound(net)) if bound.numpy else 0
    row['single'] = max(row['bound'], bound.single(net))
    names = [n for n in args.stock.split(',') if n]
    if names:
        done = cached(args, '%s-%s' % (key, '-'.join(names)),
                      lambda: stock(net, os.path.join(workdir, 'osm'), names))
        row['engines'].update({'stock ' + n: done[n] for n in names})
    row['engines'].update(ours(net, workdir, args.engines.split(',')))
    return row


# ---- verdicts -----------------------------------------------------------------------------------

def worse(row, engine):
    """In what this engine of ours is worse than a stock engine: [(column, ours, stock, by whom)]."""
    mine = row['engines'][engine]
    found = []
    for name, other in row['engines'].items():
        if not name.startswith('stock') or 'fails' in other or other['lost']:
            continue
        if mine['efi'] > other['efi'] * NEAR:
            found.append(('EFI', mine['efi'], other['efi'], name))
        if mine['ebb'] * NEAR_EBB < other['ebb']:
            found.append(('eBB', mine['ebb'], other['ebb'], name))
        # Stock's lanes hold for the SLs of its path records alone.
        if name == 'stock dfsssp' and not mine['any_sl'] and mine['lanes'] > other['lanes']:
            found.append(('lanes', mine['lanes'], other['lanes'], name))
    return found


def line(name, e):
    if 'fails' in e:
        return '    %-14s %s' % (name, e['fails'])
    return '    %-14s EFI %6d  eBB %.3f  lanes %d  longer %d%s  %.2f ms' % (
        name, e['efi'], e['ebb'], e['lanes'], e['longer'], '  LOST %d' % e['lost'] if e['lost'] else '',
        e['cpu'])


def show(row, engine):
    bad = worse(row, engine) if 'fails' not in row['engines'][engine] else []
    mine = row['engines'][engine]
    flag = ' '.join(sorted({b[0] for b in bad}))
    print('%s: bound %.0f, with one next hop %.0f, ratio %.3f %s' % (
        row['title'], row['bound'], row['single'], mine.get('efi', 0) / (row['single'] or 1), flag))
    for name, e in row['engines'].items():
        print(line(name, e))
    sys.stdout.flush()


def summary(rows, engine):
    rows = [r for r in rows if 'fails' not in r['engines'][engine]]
    lines = []
    for column in ('EFI', 'eBB', 'lanes'):
        n = sum(any(b[0] == column for b in worse(r, engine)) for r in rows)
        lines.append('%s worse than a stock engine: %d of %d' % (column, n, len(rows)))
    for key, words in ('bound', 'the bound'), ('single', 'what one next hop for each LID and switch allows'):
        ratios = [r['engines'][engine]['efi'] / r[key] for r in rows if r[key]]
        if ratios:
            lines.append('EFI over %s: mean %.3f, worst %.3f' % (words, statistics.mean(ratios), max(ratios)))
    lines.append('lanes at most: %d' % max(r['engines'][engine]['lanes'] for r in rows))
    lines.append('fabrics with longer routes: %d' % sum(r['engines'][engine]['longer'] > 0 for r in rows))
    cpu = [r['engines'][engine]['cpu'] for r in rows]
    lines.append('CPU: %.1f ms in all' % sum(cpu))
    return lines


def cell(e):
    """EFI / eBB / lanes, and what is longer or lost."""
    if not e or 'fails' in e:
        return '-'
    more = ''.join(', %d %s' % (e[k], k) for k in ('longer', 'lost') if e[k])
    return '%d / %.3f / %d%s' % (e['efi'], e['ebb'], e['lanes'], more)


def markdown(rows):
    names = [n for n in rows[0]['engines']]
    lines = ['| fabric | bound | %s |' % ' | '.join(names), '|---' * (len(names) + 2) + '|']
    for r in rows:
        lines.append('| %s | %.0f | %s |' % (r['title'], r['bound'], ' | '.join(
            cell(r['engines'].get(n)) for n in names)))
    return '\n'.join(lines) + '\n'


def numbers(seeds):
    for part in seeds.split(','):
        first, _, last = part.partition('-')
        yield from range(int(first), int(last or first) + 1)


def fabrics(args, workdir):
    for kind, seeds in QUICK if args.quick else [(k, args.seeds) for k in args.kind.split(',')]:
        if kind == 'real':
            top = real_fabrics()
            for folder, _, files in os.walk(top or '.'):
                for name in sorted(files):
                    if top and name.endswith(('.topo', '.net')):
                        yield name, os.path.join(folder, name)
            continue
        for seed in numbers(seeds):
            make = shapes.KINDS[kind]
            net = make(seed, args.large) if kind == 'tree' else make(seed)
            title = '%s %d: %s' % (kind, seed, net.title)
            if args.only and args.only not in title:
                continue
            yield title, net.write(os.path.join(args.cache or workdir, '%s-%d%s.net' % (
                kind, seed, '-large' if args.large else '')))


def fails(row, engine):
    """Of --quick: worse than stock, or a tree far above what tables can have."""
    mine = row['engines'][engine]
    return worse(row, engine) or (row['title'].startswith('tree') and row['single'] and
                                  mine['efi'] > row['single'] * QUICK_RATIO)


def main():
    args = arguments()
    if args.cache:
        os.makedirs(args.cache, exist_ok=True)
    workdir = tempfile.mkdtemp(prefix='osr-compare-')
    rows, engine = [], args.engines.split(',')[0]
    try:
        need_tools()
        for title, net in fabrics(args, workdir):
            try:
                rows.append(measure(args, title, net, workdir))
            except Failure as f:
                warn('%s: %s' % (title, f))
                continue
            show(rows[-1], engine)
        print('\n'.join(summary(rows, engine)))
        if args.json:
            with open(args.json, 'w') as file:
                json.dump(rows, file, indent=1)
        if args.markdown:
            with open(args.markdown, 'w') as file:
                file.write(markdown(rows))
        return 1 if args.quick and any(fails(r, engine) for r in rows) else 0
    except Skip as s:
        warn('skipped: %s' % s)
        return 77
    finally:
        shutil.rmtree(workdir, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
