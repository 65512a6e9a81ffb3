# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/demo, once everything is built: real opensm, simulated fabrics, one table each."""
import os
import sys
import tempfile
import time

from measure import measure
from osmtest import Failure, find_fabric, need_tools, real_fabrics

OUT = os.environ.get('OSR_DEMO_DIR') or tempfile.mkdtemp(prefix='osmroutes-demo-')
FIELD = ('plafrim-2013', 'topograph-dgx-2025')
OWN = ('torus-4x4', 'cluster-192')

COLOUR = sys.stdout.isatty() and 'NO_COLOR' not in os.environ


def paint(code, text):
    return '\033[%sm%s\033[0m' % (code, text) if COLOUR else text


def yes(value):
    return 'yes' if value else 'NO'


def rows(stock, ours):
    """(what, stock, ours); ratio in words where it says something."""
    ratio = lambda a, b: '%.0f times less' % (a / b) if b and a / b >= 1.5 else ''
    for run in (stock, ours):
        run.name = run.used + ' (dfsssp failed)' * run.failed
    yield 'engine that routed', stock.name, ours.name, ''
    yield ('CPU time of routing', '%.1f ms' % (stock.seconds * 1e3), '%.1f ms' % (ours.seconds * 1e3),
           ratio(stock.seconds, ours.seconds))
    yield ('memory it took', '%.1f MB' % (stock.peak / 1024), '%.1f MB' % (ours.peak / 1024),
           ratio(stock.peak, ours.peak))
    yield 'virtual lanes needed', stock.vls or '-', ours.vls or '-', ''
    yield ('EFI, most routes on a link', stock.efi, ours.efi, '%.0f on average' % ours.mean)
    yield 'routes longer than minimal', stock.longer, ours.longer, ''
    yield 'deadlock-free, one way', yes(stock.one_way), yes(ours.one_way), 'read back and searched'
    yield 'deadlock-free with replies', yes(stock.replies), yes(ours.replies), 'on the request\'s SL'
    yield 'checked before use', 'no', 'yes', ''


def show(name, stock, ours):
    print()
    print(paint('1', name) + ': %d switches, %d host LIDs, %d channels between switches' %
          (ours.n_switches, ours.n_hosts, ours.n_channels))
    form = '  %-28s %16s %16s   %s'
    print(paint('2', form % ('', 'stock dfsssp', 'osmroutes', '')))
    for what, a, b, remark in rows(stock, ours):
        print(form % (what, a, b, remark))
    print('  dumps and log: ' + ours.dir)


def demo(netfile):
    name = os.path.splitext(os.path.basename(netfile))[0]
    workdir = os.path.join(OUT, name)
    stock, ours = [measure(netfile, workdir, 'dfsssp', ours) for ours in (False, True)]
    show(name, stock, ours)
    return not ours.failed and ours.one_way


def main():
    need_tools()
    names = sys.argv[1:] or (FIELD if real_fabrics() else OWN)
    for name in sys.argv[1:]:
        if '/' in name and not os.path.isfile(name):
            raise Failure('no such file: %s' % name)
    print('Stock opensm -R dfsssp under ibsim, with qos TRUE: first as it is, then with one more line '
          'in opensm.conf:\n    event_plugin_name osmroutes')
    started = time.monotonic()
    good = [demo(find_fabric(name)) for name in names]
    print('\n%d fabric%s in %.0f s. %s' % (len(good), 's' * (len(good) > 1),
                                           time.monotonic() - started,
                                           'All well.' if all(good) else 'NOT all well, see above.'))
    return 0 if all(good) else 1


try:
    sys.exit(main())
except Failure as f:
    sys.exit('demo: %s' % f)
