# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/bench, once everything is built: stock engines and ours side by side, as a ratio table."""
import argparse
import os
import platform
import statistics
import subprocess
import sys
import time

from judge import generate
from measure import measure
from osmtest import ROOT, Failure, Skip, find_fabric, need_tools

OUT = os.environ.get('OSR_BENCH_DIR', '/tmp/osmroutes-bench')

# name, how to generate it; the fabrics of the field are found by name. `bound`: the least EFI that
# minimal routing can have, where it is known (linear programming).
TREES = (
    ('tree, 1,000 hosts', ('kary', 'k=10', 'n=3'), 990),
    ('tree, 1,944 hosts', ('tree', 'm=18,18,6', 'w=1,18,6', 'p=1,1,3'), 1926),
)
OTHERS = (
    ('random 64, 128 links', ('random', 'switches=64', 'links=128', 'hosts=16'), 15673),
    ('random 128, 300 links', ('random', 'switches=128', 'links=300', 'hosts=16'), 41724),
    ('dragonfly 1,056 hosts', ('dragonfly', 'a=8', 'h=4', 'p=4'), 1059),
    ('HyperX 12x8, 672 hosts', ('hyperx', 'dims=12x8', 'hosts=7'), 588),
    ('torus 8x8x8, 1,024 hosts', ('torus', 'dims=8x8x8', 'hosts=2'), None),
)
LARGE = (('tree, 11,664 hosts', ('tree', 'm=18,18,36', 'w=1,18,18', 'p=1,1,1'), 11646),)
FIELD = ('plafrim-2013', 'topograph-dgx-2025', 'selene-storage-2021', 'ibutils/RhinoBased512Nodes')
QUICK = (('tree, 64 hosts', ('kary', 'k=4', 'n=3'), 60),)

HEAD = ('| fabric | switches | stock dfsssp | ours | ratio | stock minhop | ours / minhop | '
        'peak memory stock | ours | ratio | VLs stock | ours | EFI stock | ours | bound | average |')


def fabrics(options):
    """(name, net file, bound) of what is to be measured."""
    chosen = QUICK if options.quick else TREES + OTHERS + (LARGE if options.large else ())
    for name, arguments, bound in chosen:
        net = os.path.join(OUT, name.replace(' ', '-').replace(',', '') + '.net')
        yield name, generate(net, *arguments), bound
    for name in () if options.quick else FIELD:
        try:
            yield name.split('/')[-1], find_fabric(name), None
        except Skip:
            pass


def median_run(netfile, workdir, engine, ours, times):
    runs = []
    for _ in range(times):
        runs.append(measure(netfile, workdir, engine, ours, seconds=900))
        if runs[-1].seconds > 20:	# a run this long needs no company
            break
    runs[0].seconds = statistics.median(r.seconds for r in runs)
    runs[0].peak = statistics.median(r.peak for r in runs)
    return runs[0]


def row(name, netfile, bound, options):
    workdir = os.path.join(OUT, 'run')
    get = lambda engine, ours: median_run(netfile, workdir, engine, ours, options.runs)
    stock, ours, minhop = get('dfsssp', False), get('dfsssp', True), get('minhop', False)
    # A stock engine that failed: what it took until then, and its tables are minhop's.
    failed = stock.used != 'dfsssp'
    return {
        'fabric': name, 'switches': ours.n_switches, 'hosts': ours.n_hosts,
        'stock_s': stock.seconds, 'ours_s': ours.seconds, 'minhop_s': minhop.seconds,
        'stock_kb': stock.peak, 'ours_kb': ours.peak, 'stock_failed': failed,
        'ours_failed': ours.used != 'dfsssp', 'stock_vls': None if failed else stock.vls,
        'ours_vls': ours.vls, 'stock_efi': None if failed else stock.efi, 'ours_efi': ours.efi,
        'bound': bound, 'mean': ours.mean,
    }


def seconds(s):
    return '%.3g ms' % (s * 1e3) if s < 1 else '%.3g s' % s


def megabytes(kb):
    return '%.1f MB' % (kb / 1024)


def ratio(a, b):
    return '%.0f' % (a / b) if a / b >= 10 else '%.2g' % (a / b)


def line(r):
    dash = lambda v: '-' if v is None else v
    cells = [r['fabric'], r['switches'],
             seconds(r['stock_s']) + (', then fails' if r['stock_failed'] else ''),
             seconds(r['ours_s']) + (', then fails' if r['ours_failed'] else ''),
             '**%s**' % ratio(r['stock_s'], r['ours_s']), seconds(r['minhop_s']),
             ratio(r['ours_s'], r['minhop_s']), megabytes(r['stock_kb']), megabytes(r['ours_kb']),
             ratio(r['stock_kb'], max(r['ours_kb'], 1)), dash(r['stock_vls']), dash(r['ours_vls']),
             dash(r['stock_efi']), r['ours_efi'], dash(r['bound']), '%.0f' % r['mean']]
    return '| ' + ' | '.join(str(c) for c in cells) + ' |'


def cpu_model():
    with open('/proc/cpuinfo') as file:
        names = [l.split(':')[1].strip() for l in file if l.startswith('model name')]
    return '%d x %s' % (len(names), names[0] if names else platform.machine())


def opensm_version():
    out = subprocess.run(['opensm', '--version'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True).stdout
    return next((l.strip() for l in out.splitlines() if 'OpenSM' in l), 'OpenSM')


def page(lines, options, version):
    head = '''# Benchmarks

Written by `scripts/bench{large}` on {day}: {version}, {cpu}.

One opensm, one ibsim, `qos TRUE`, log flags without ROUTING, nothing routed before. Times are CPU
seconds of all threads inside the two routing callbacks, for ours with the plugin's event handlers
and with the check of every table; memory is how far the peak of resident memory rose meanwhile.
Medians of {runs} runs. VLs are those that deadlock freedom needs with one-way SLs, which is what
stock promises. EFI: routes between hosts over the most loaded channel, counted in the tables that
were read back from the switches. The bound is the least that minimal routing can reach, where known.

{table}
'''
    table = '\n'.join([HEAD, '|' + '---|' * (HEAD.count('|') - 1)] + lines)
    return head.format(large=' --large' if options.large else '', day=time.strftime('%Y-%m-%d'),
                       version=version, cpu=cpu_model(), runs=options.runs, table=table)


def main():
    parser = argparse.ArgumentParser(prog='scripts/bench', description='Stock and ours side by side.')
    parser.add_argument('--quick', action='store_true', help='one small fabric, one run, no file')
    parser.add_argument('--large', action='store_true', help='also 11,664 hosts: stock needs minutes')
    parser.add_argument('--runs', type=int, default=3, help='runs per engine and fabric (3)')
    parser.add_argument('--output', default=os.path.join(ROOT, 'docs', 'benchmarks.md'))
    options = parser.parse_args()
    options.runs = 1 if options.quick else options.runs
    need_tools()
    os.makedirs(OUT, exist_ok=True)
    print(HEAD)
    lines = []
    for name, netfile, bound in fabrics(options):
        lines.append(line(row(name, netfile, bound, options)))
        print(lines[-1], flush=True)
    if not options.quick:
        with open(options.output, 'w') as file:
            file.write(page(lines, options, opensm_version()))
        print('written to ' + options.output)
    return 0


try:
    sys.exit(main())
except Failure as f:
    sys.exit('bench: %s' % f)
