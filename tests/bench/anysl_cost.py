#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What any SL costs: dfsssp's lanes by turn (any_sl = on, auto) beside lanes by SL (off), on the same VLs.
anysl_cost.py OSMROUTES [--update FILE] [--fabrics DIRECTORY] [--only WORD]; the table between the markers of FILE."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

BEGIN, END = '<!-- begin any-sl-cost -->', '<!-- end any-sl-cost -->'
SEEDS = 1, 2, 3, 11, 12		# the search was tuned on the first three
FIELD = 'ibutils/RhinoBased512Nodes.net', 'selene-storage-2021.topo', 'topograph-dgx-2025.topo', 'plafrim-2013.topo'


def fabrics():
    for switches, links in (64, 128), (128, 300):
        for seed in SEEDS:
            yield ('random, %d switches, %d links, seed %d' % (switches, links, seed),
                   'random switches=%d links=%d seed=%d' % (switches, links, seed))
    for links in 256, 512:
        for seed in SEEDS[0], SEEDS[3]:
            yield ('random, 64 switches, %d links, 4 hosts, seed %d' % (links, seed),
                   'random switches=64 links=%d hosts=4 seed=%d' % (links, seed))
    for q, hosts in (5, 4), (7, 5), (11, 8), (13, 10):
        yield 'Slim Fly q=%d, %d hosts' % (q, hosts), 'slimfly q=%d p=%d' % (q, hosts)
    yield 'dragonfly a=8 h=4 p=4', 'dragonfly a=8 h=4 p=4'
    yield 'dragonfly a=6 h=3 p=3', 'dragonfly a=6 h=3 p=3'
    yield 'Kautz b=3 n=4', 'kautz b=3 n=4'
    yield 'HyperX 6x6x6, 2 hosts', 'hyperx dims=6x6x6 hosts=2'
    for dims in '5x5x5', '6x6x6', '8x8x8', '10x10', '16x16':
        yield 'torus ' + dims, 'torus dims=%s hosts=2' % dims


def measure_once(command, net, vls, any_sl, bisections):
    run = subprocess.run([command, 'route', net, '--json', '--vls=%d' % vls, '-e', 'dfsssp', '-o', 'any_sl=' + any_sl,
                          '--config=none', '--multicast=no', '--threads=1', '--bisections=%d' % bisections],
                         capture_output=True, text=True)
    got = json.loads(run.stdout)['results'][0]
    return got


def measure(command, net, vls, any_sl, times):
    got = measure_once(command, net, vls, any_sl, 1000)
    got['cpu'] = statistics.median([got['route_ms']['cpu']] + [measure_once(command, net, vls, any_sl, 0)['route_ms']['cpu']
                                                          for _ in range(times - 1)])
    got['longer'] = 100 * got['routes_longer'] / got['routes']
    got['safe'] = got['answers']['any_sl'] == 'proven'
    return got


def cell(got, by_sl):
    if not got['safe']:
        return 'by SL, %.1f' % (got['cpu'] / by_sl['cpu'])
    return '%.2f %%, %.2f, %.2f, %.1f' % (got['longer'], got['efi'] / by_sl['efi'], got['ebb'] / by_sl['ebb'],
                                          got['cpu'] / by_sl['cpu'])


def rows(args, directory):
    found = [(title, words.split(), None) for title, words in fabrics()]
    found += [(os.path.splitext(name)[0], None, os.path.join(args.fabrics, name)) for name in FIELD if args.fabrics]
    found.append(('cluster-192', None, os.path.join(os.path.dirname(__file__), '../../topologies/cluster-192.net')))
    for title, words, path in found:
        if args.only and args.only not in title:
            continue
        net = path or os.path.join(directory, 'fabric.net')
        if words:
            subprocess.run([args.command, 'generate', '-o', net] + words, check=True)
        for vls in 2, 4:
            off, on, auto = (measure(args.command, net, vls, any_sl, args.times) for any_sl in ('off', 'on', 'auto'))
            first = '%.2f %%, %.2f, %.3f, %.0f ms' % (off['longer'], off['efi'] / off['efi_mean'], off['ebb'], off['cpu'])
            yield '| %s | %d | %s | %s | %s |' % (title, vls, first + (', any SL' if off['safe'] else ''),
                                                cell(on, off), cell(auto, off))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('command')
    parser.add_argument('--update')
    parser.add_argument('--fabrics')
    parser.add_argument('--only')
    parser.add_argument('--times', type=int, default=3)
    args = parser.parse_args()
    lines = ['| fabric | VLs | lanes by SL | `on` | `auto` |', '|---|---|---|---|---|']
    print('\n'.join(lines), flush=True)
    with tempfile.TemporaryDirectory() as directory:
        for row in rows(args, directory):
            print(row, flush=True)
            lines.append(row)
    if args.update:
        with open(args.update) as file:
            text = file.read()
        table = '%s\n%s\n%s' % (BEGIN, '\n'.join(lines), END)
        new = re.sub('%s.*%s' % (BEGIN, END), lambda _: table, text, flags=re.S)
        with open(args.update, 'w') as file:
            file.write(new)
    sys.exit(0)


main()
