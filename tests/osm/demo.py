# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/demo [FILE...]

What OpenSM's engines and osmroutes make of one fabric, side by side, by a real opensm on simulated switches:
by default a 3-level fat tree of 1,000 hosts, then a torus on which OpenSM's default can deadlock. FILE is the
output of ibnetdiscover on your fabric, or an ibsim net file; the name of one of topologies/ will do."""
import json
import os
import subprocess
import sys

import carried
from osmtest import BUILD, COMMAND, Failure, find_fabric, generate, need_tools, running, Skip
from timed import Sweep

OUT = os.environ.get('OSR_DEMO_DIR', os.path.join(BUILD, 'demo'))
TREE = ['kary', 'k=10', 'n=3']
ENGINES = {'OpenSM minhop': ('minhop', False), 'OpenSM ftree': ('ftree', False), 'OpenSM dfsssp': ('dfsssp', False),
           'osmroutes dfsssp': ('dfsssp', True)}
ROWS = ('routed by', 'routes on the busiest link', '  over an even spread', 'effective bisection bandwidth',
        'deadlock-free between hosts', '  if senders take any SL', '  with packets to and from switches', 'CPU time of routing',
        'LFT blocks sent after a cable is pulled')
SECONDS = 300	# for one sweep, at most
PACKETS = 1000000	# on the torus, under uniform traffic


def name_of(netfile):
    return os.path.splitext(os.path.basename(netfile))[0]


def small(netfile):
    """Reading and writing SL to VL tables of a thousand ports takes minutes on simulated switches."""
    with open(netfile, errors='replace') as file:
        return sum(line.startswith('Switch') for line in file) <= 64


def column(netfile, workdir, engine, ours):
    """The cells of one engine, in the order of ROWS. LIDs are those that this opensm has given, as ibnetdiscover finds
    them. Small fabrics are judged as they are, with SLs and lanes; large ones by the tables of their switches."""
    name = ('ours-' if ours else 'stock-') + engine
    timer, lfts, found = (os.path.join(workdir, name + end) for end in ('.timer', '.lfts', '.topo'))
    conf = {'qos': 'TRUE' if small(netfile) else 'FALSE', 'event_plugin_name': 'osmroutes osrtimer' if ours else 'osrtimer'}
    env = {'OSR_TIMER_ENGINE': engine, 'OSR_TIMER_OUT': timer, 'OSR_TIMER_LFTS': lfts}
    with running(workdir, netfile, engine, plugin=ours, options=conf, name=name, env=env, seconds=SECONDS) as (fabric, opensm):
        with open(timer) as file:
            swept = Sweep(json.loads(file.readlines()[-1]), engine, opensm.log, None)
        with open(found, 'w') as file:
            file.write(fabric.run(['ibnetdiscover'], SECONDS))

        def said(*words):
            return json.loads(fabric.run([COMMAND, *words, '--json'], SECONDS, ok=False))
        live = ['--live', '--sa=switches'] if small(netfile) else [found, '--tables', lfts]
        verdict = said('check', *live)['verdict']
        balance = said('route', found, '--tables', lfts)['results'][0]
        if balance['host_routes_lost']:
            raise Failure('by the tables in %s %d routes between hosts do not arrive' % (lfts, balance['host_routes_lost']))
        if not balance['efi']:
            raise Failure('%s: no route between hosts takes a cable between switches' % netfile)
        before = fabric.tables('lft')
        links = before.cables()
        opensm.change(fabric.unlink(*links[len(links) // 3][:2]), seconds=SECONDS)
        blocks = len(before.blocks_changed(fabric.tables('lft')))
    yes = {'proven': 'yes', 'refuted': 'NO'}
    return [swept.used + ' (instead)' * (swept.used != engine), '%d' % balance['efi'],
            '%.2f x' % (balance['efi'] / balance['efi_perfect']), '%.3f' % balance['ebb'],
            *(yes.get(verdict[packets].get(question), 'unknown') for packets, question in (
                ('answers', 'one_way'), ('answers', 'any_sl'), ('with_switches', 'one_way'))),
            '%.1f ms' % swept.cpu, '%d' % blocks]


def side_by_side(netfile):
    """Prints the table; its last column."""
    workdir, columns = os.path.join(OUT, name_of(netfile)), []
    for title, (engine, ours) in ENGINES.items():
        print('  ... %s: %s: routing, verifying the tables, pulling a cable' % (name_of(netfile), title), file=sys.stderr, flush=True)
        columns.append(column(netfile, workdir, engine, ours))
    print('\n%s\n%-42s' % (name_of(netfile), '') + ''.join(' %17s' % title for title in ENGINES))
    for what, *cells in zip(ROWS, *columns):
        print('  %-40s' % what + ''.join(' %17s' % cell for cell in cells))
    page = os.path.join(workdir, 'report.html')
    # LIDs are the same in all runs: opensm gives them by port GUID. 1: minhop's tables are not proven.
    done = subprocess.run([COMMAND, 'report', os.path.join(workdir, 'ours-dfsssp.topo'), '-e', 'dfsssp',
                           '--tables', os.path.join(workdir, 'stock-minhop.lfts'), '--html', page], stdout=subprocess.DEVNULL)
    if done.returncode > 1:
        raise Failure('no report of %s' % workdir)
    print('  the routes of minhop and of osmroutes, with pictures: ' + page, flush=True)
    return columns[-1]


def deadlock(netfile):
    """OpenSM's default and ours, judged by `osmroutes check`, and by packets. Have all of ours arrived?"""
    print('\n%s: osmroutes check --live, which reads the tables out of the switches' % name_of(netfile))
    for title, engine, ours in ("OpenSM's default, minhop", 'minhop', False), ('osmroutes', 'dfsssp', True):
        with running(os.path.join(OUT, name_of(netfile)), netfile, engine, plugin=ours, options={'qos': 'TRUE'}, name=title[:4],
                     seconds=SECONDS) as (fabric, opensm):
            lines = fabric.run([COMMAND, 'check', '--live'], SECONDS, ok=False).splitlines()
            tables = carried.read(fabric)
        got = carried.carry(carried.simulator.text_of(tables, tables.rows), packets=PACKETS)
        loop = next((i for i, line in enumerate(lines) if line.startswith('loop ')), None)
        shown = [line for line in lines if line.startswith(('verdict', 'deadlock'))] if loop is None else lines[loop:]
        print('  %s:\n    %s' % (title, '\n    '.join(shown)))
        print('    packets delivered in a simulation of links with credits: {:,}{}'.format(
            got['delivered'], ', then none' if got['stuck'] else ', all'))
    return not got['stuck']


def main(words):
    if any(word.startswith('-') for word in words):
        print(__doc__)
        return 0 if words[0] in ('-h', '--help') else 2
    need_tools()
    files = [find_fabric(word) for word in words]
    if not files:
        files = [generate(os.path.join(OUT, 'tree-1000.net'), *TREE)]
    last = [side_by_side(netfile) for netfile in files]
    good = words or deadlock(find_fabric('torus-4x4'))
    return 0 if good and all(cells[0] == 'dfsssp' and cells[4] == 'yes' for cells in last) else 1


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except (Failure, Skip, subprocess.CalledProcessError) as failed:
        sys.exit('demo: %s' % failed)
