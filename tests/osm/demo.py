# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/demo [FILE...]

What OpenSM's engines and osmroutes make of one fabric, side by side, by a real opensm on simulated switches:
by default a 3-level fat tree of 1,000 hosts, then a torus on which OpenSM's default can deadlock. FILE is the
output of ibnetdiscover on your fabric, or an ibsim net file; the name of one of topologies/ will do."""
import json
import os
import subprocess
import sys
import time

import carried
import oracle
from entries import blocks_changed
from faults import switch_links
from osmtest import BUILD, Failure, find_fabric, need_tools, running, Skip
from timed import Sweep

OUT = os.environ.get('OSR_DEMO_DIR', os.path.join(BUILD, 'demo'))
COMMAND = os.path.join(BUILD, 'src', 'cli', 'osmroutes')
TREE = ['kary', 'k=10', 'n=3']
ENGINES = (('minhop', False), ('ftree', False), ('dfsssp', False), ('dfsssp', True))
TITLES = ('OpenSM minhop', 'OpenSM ftree', 'OpenSM dfsssp', 'osmroutes dfsssp')
SECONDS = 300	# for one sweep, at most
PACKETS = 1000000	# on the torus, under uniform traffic
COLOUR = sys.stdout.isatty() and 'NO_COLOR' not in os.environ


def paint(code, text):
    return '\033[%sm%s\033[0m' % (code, text) if COLOUR else text


def use_lanes(netfile):
    """Reading and writing SL to VL tables of a thousand ports takes minutes on simulated switches."""
    with open(netfile, errors='replace') as file:
        return sum(line.startswith('Switch') for line in file) <= 64


def progress(text):
    print('  ... ' + text, file=sys.stderr, flush=True)


def command(fabric, *words, codes=(0,)):
    """The command, at the simulated fabric; what it prints."""
    done = subprocess.run(['ibsim-run', COMMAND, *words], env=fabric.env, cwd=fabric.dir, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS)
    if done.returncode not in codes:
        raise Failure('osmroutes %s: %s' % (' '.join(words), done.stderr.strip()[-300:]))
    return done.stdout


def write_lfts(tables, path):
    """The tables of the switches as OpenSM's opensm-lfts.dump."""
    with open(path, 'w') as file:
        for s in tables.switches:
            known = [(lid, s.forward(lid)) for lid in sorted(tables.lids)]
            known = [(lid, port) for lid, port in known if port != oracle.NO_PATH]
            file.write("Unicast lids [0-%d] of switch Lid 1 guid %s ('%s'):\n" % (max(tables.lids), s.guid, s.name))
            file.writelines('0x%04x %03d\n' % entry for entry in known)
            file.write('%d lids dumped\n' % len(known))


class Column:
    """One engine on one fabric."""

    def __init__(self, netfile, workdir, engine, ours):
        name = ('ours-' if ours else 'stock-') + engine
        timer = os.path.join(workdir, name + '.timer')
        if os.path.exists(timer):
            os.unlink(timer)
        conf = {'qos': 'TRUE' if use_lanes(netfile) else 'FALSE',
                'event_plugin_name': 'osmroutes osrtimer' if ours else 'osrtimer'}
        with running(workdir, netfile, engine, plugin=ours, options=conf, name=name,
                     env={'OSR_TIMER_OUT': timer}, seconds=SECONDS) as (fabric, opensm):
            with open(timer) as file:
                self.run = Sweep(json.loads(file.readline()), engine, opensm.log, None)
            self.failed = self.run.used != engine
            self.judge(fabric, name)
            self.pull_a_cable(fabric, opensm)

    def judge(self, fabric, name):
        """By the command: small fabrics as they are, with SLs and lanes; large ones by the tables of their switches.
        The LIDs are those that this opensm has given, as ibnetdiscover finds them."""
        self.before = oracle.Tables(fabric.read_back('lft'))
        found, tables = os.path.join(fabric.dir, name + '.topo'), os.path.join(fabric.dir, name + '.lfts')
        with open(found, 'w') as file:
            file.write(fabric.run(['ibnetdiscover'], SECONDS))
        write_lfts(self.before, tables)
        words = ['--live', '--sa=switches'] if use_lanes(fabric.netfile) else [found, '--tables', tables]
        self.check = json.loads(command(fabric, 'check', *words, '--only-hosts', '--json', codes=(0, 1)))
        self.balance = json.loads(command(fabric, 'route', found, '--tables', tables, '--json', codes=(0, 1)))['results'][0]
        if self.balance['host_routes_lost']:
            raise Failure('by the tables in %s %d of %d routes between hosts do not arrive' % (
                tables, self.balance['host_routes_lost'], self.balance['host_routes']))
        if not self.efi:
            raise Failure('%s: no route between hosts takes a cable between switches' % fabric.netfile)
        self.found = found

    def pull_a_cable(self, fabric, opensm):
        links = switch_links(self.before)
        self.cable = links[len(links) // 3]
        opensm.change(fabric.unlink(*self.cable[:2]), seconds=SECONDS)
        self.blocks = blocks_changed(self.before, oracle.Tables(fabric.read_back('lft')))
        self.n_switches, self.n_hosts = len(self.before.switches), len(self.before.host_lids)

    def answer(self, what):
        return {'proven': 'yes', 'refuted': 'NO'}.get(self.check['verdict']['answers'].get(what), 'unknown')

    @property
    def efi(self):
        return self.balance['efi']

    @property
    def over_ideal(self):
        return self.efi / self.balance['efi_perfect']


def rows(columns):
    yield 'routed by', ['%s' % c.run.used + ' (instead)' * c.failed for c in columns]
    yield 'routes on the busiest link', ['%d' % c.efi for c in columns]
    yield '  over an even spread', ['%.2f x' % c.over_ideal for c in columns]
    yield 'effective bisection bandwidth', ['%.3f' % c.balance['ebb'] for c in columns]
    yield 'deadlock-free between hosts', [c.answer('one_way') for c in columns]
    yield '  if senders take any SL', [c.answer('any_sl') for c in columns]
    yield 'virtual lanes needed', ['%d' % c.run.one_way if c.run.one_way else '-' for c in columns]
    yield 'CPU time of routing', ['%.1f ms' % (c.run.cpu) for c in columns]
    yield 'LFT blocks sent after a cable is pulled', ['%d' % c.blocks for c in columns]


def side_by_side(netfile):
    name = os.path.splitext(os.path.basename(netfile))[0]
    columns = []
    for (engine, ours), title in zip(ENGINES, TITLES):
        progress('%s: %s: routing, verifying the tables, pulling a cable' % (name, title))
        columns.append(Column(netfile, os.path.join(OUT, name), engine, ours))
    last = columns[-1]
    print('\n%s: %d switches, %d hosts' % (paint('1', name), last.n_switches, last.n_hosts))
    if not use_lanes(netfile):
        print('  without QoS: one virtual lane, which is enough for a tree')
    print(paint('2', '  %-40s' % '' + ''.join(' %17s' % t for t in TITLES)))
    for what, cells in rows(columns):
        print('  %-40s' % what + ''.join(' %17s' % c for c in cells))
    page = os.path.join(OUT, name, 'report.html')
    subprocess.run([COMMAND, 'report', last.found, '--html', page], check=True, stdout=subprocess.DEVNULL)
    print('  the routes of osmroutes, with pictures: ' + page)
    return columns


def deadlock(netfile):
    """OpenSM's default and ours, judged by `osmroutes check` alone."""
    name = os.path.splitext(os.path.basename(netfile))[0]
    print('\n%s: osmroutes check --live, which reads the tables out of the switches' % paint('1', name))
    free, delivered = [], []
    for engine, ours in (('minhop', False), ('dfsssp', True)):
        with running(os.path.join(OUT, name), netfile, engine, plugin=ours, options={'qos': 'TRUE'},
                     name=('ours-' if ours else 'stock-') + engine,
                     seconds=SECONDS) as (fabric, opensm):
            text = command(fabric, 'check', '--live', '--only-hosts', codes=(0, 1))
            tables = carried.read(fabric)
        got = carried.carry(carried.simulator.text_of(tables, tables.rows), packets=PACKETS)
        delivered.append('%s %s' % (('osmroutes' if ours else 'minhop'), '{:,}, then none'.format(got['delivered'])
                         if got['stuck'] else 'all {:,}'.format(got['delivered'])))
        print('  %s:' % (TITLES[-1] if ours else "OpenSM's default, minhop"))
        lines = text.splitlines()
        loop = [i for i, line in enumerate(lines) if line.startswith('loop ')]
        free.append(not loop)
        shown = lines[loop[0]:] if loop else [line for line in lines if line.startswith(('verdict', 'deadlock'))]
        print('\n'.join('    ' + line for line in shown) if shown else '    no credit loop')
    print('  packets delivered in a simulation of links with credits: ' + '; '.join(delivered))
    return free


def ratio(a, b):
    return '%.1f' % (a / b) if a < 10 * b else '%.0f' % (a / b)


def closing(columns, free):
    minhop, _, stock, ours = columns
    said = ['busiest link: %d routes with osmroutes, %d with minhop (%s times as many), %d with OpenSM dfsssp' % (
                ours.efi, minhop.efi, ratio(minhop.efi, ours.efi), stock.efi),
            'bandwidth between random halves of the hosts: %.2f times that of minhop' % (
                ours.balance['ebb'] / minhop.balance['ebb']),
            'CPU time of routing: %.1f ms, OpenSM dfsssp %.1f ms' % (ours.run.cpu, stock.run.cpu),
            'a pulled cable: %d LFT blocks sent with osmroutes, %d with minhop, %d with OpenSM dfsssp' % (
                ours.blocks, minhop.blocks, stock.blocks)]
    if free:
        said.append('the torus: %s credit loop with osmroutes, %s with minhop' % (
            'no' if free[1] else 'a', 'none' if free[0] else 'one'))
    return '\n  '.join(said)


def find(word):
    if '/' in word and not os.path.isfile(word):
        raise Failure('no such file: %s' % word)
    try:
        path = find_fabric(word)
    except Skip:
        raise Failure('"%s" is no file, and no fabric of topologies/ is called so' % word)
    done = subprocess.run([COMMAND, 'route', '-e', 'sssp', path], capture_output=True, text=True)
    if done.returncode == 2:
        raise Failure(done.stderr.strip().replace('osmroutes: ', '', 1))
    return path


def main():
    if any(word in ('-h', '--help') for word in sys.argv[1:]):
        print(__doc__)
        return 0
    if any(word.startswith('-') for word in sys.argv[1:]):
        raise Failure('unknown option; scripts/demo --help says more')
    need_tools()
    started = time.monotonic()
    files = [find(word) for word in sys.argv[1:]]
    free = None
    if not files:
        os.makedirs(OUT, exist_ok=True)
        files = [os.path.join(OUT, 'tree-1000.net')]
        subprocess.run([COMMAND, 'generate', '-o', files[0], *TREE], check=True)
    results = [side_by_side(netfile) for netfile in files]
    if len(sys.argv) == 1:
        free = deadlock(find_fabric('torus-4x4'))
    for netfile, columns in zip(files, results):
        print('\n' + paint('1', os.path.splitext(os.path.basename(netfile))[0]) + ', in short\n  ' + closing(columns, free))
    print('\nThe demo took %.0f s.' % (time.monotonic() - started))
    good = all(not c[-1].failed and c[-1].answer('one_way') == 'yes' for c in results)
    return 0 if good and (not free or free[1]) else 1


try:
    sys.exit(main())
except (Failure, Skip) as failed:
    sys.exit('demo: %s' % failed)
except subprocess.CalledProcessError as failed:
    sys.exit('demo: %s' % failed)
except KeyboardInterrupt:
    sys.exit('demo: interrupted')
