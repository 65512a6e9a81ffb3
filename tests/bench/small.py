#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What routing costs on small fabrics: CPU of OpenSM's routing step with dfsssp of osmroutes (default options) and with its
own, in turn under one ibsim; medians of the first sweep of each opensm and of those after it, in which nothing has changed.
Ours send SL2VL tables by turn in this step, OpenSM sends its own after it; the whole first sweep has both, and discovery.
small.py [FABRIC...]: net files or names; without any, every fabric of less than 64 switches at hand."""
import glob
import json
import os
import re
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'osm'))
from osmtest import BUILD, ROOT, Fabric, Opensm, find_fabric, need_tools, real_fabrics  # noqa: E402

ROUNDS, SWEEPS = 5, 6


def switches(path):
    with open(path, errors='replace') as file:
        return len(re.findall(r'^Switch', file.read(), re.M))


def costs(fabric, workdir, ours):
    """ms of CPU of each sweep of one opensm, and of the whole of the first one."""
    out = os.path.join(workdir, 'timer')
    if os.path.exists(out):
        os.remove(out)
    options = {'qos': 'TRUE', 'event_plugin_name': 'osmroutes osrtimer' if ours else 'osrtimer'}
    with Opensm(fabric, 'dfsssp', plugin=ours, plugin_conf='log_details = no\n' if ours else None, options=options,
                env={'OSR_TIMER_OUT': out}) as opensm:
        opensm.wait_up(120)
        for _ in range(SWEEPS):
            opensm.resweep(120)
    with open(out) as file:
        lines = [json.loads(line) for line in file]
    routing = [entry['cpu_ms'] + line['events_ms'] for line in lines for entry in line['engines'] if entry['name'] == 'dfsssp']
    return routing, lines[0]['sweep_ms']


def compare(path):
    """Medians in ms of stock and ours: first sweep; later ones; all of the first sweep."""
    found = [[], [], [], [], [], []]
    with tempfile.TemporaryDirectory() as workdir, Fabric(path, workdir) as fabric:
        for _ in range(ROUNDS):
            for ours in (0, 1):
                (first, *later), whole = costs(fabric, workdir, ours)
                found[ours].append(first)
                found[2 + ours] += later
                found[4 + ours].append(whole)
    return [statistics.median(values) for values in found]


def main():
    paths = [find_fabric(w) for w in sys.argv[1:]]
    if not paths:
        paths = glob.glob(os.path.join(ROOT, 'topologies', '*.net'))
        paths += glob.glob(os.path.join(real_fabrics() or '/nonexistent', '*.topo'))
        paths = [p for p in paths if 1 < switches(p) < 64]
    need_tools()
    print('| fabric | switches | first sweep: OpenSM, osmroutes, ratio | later ones: OpenSM, osmroutes, ratio | '
          'all of the first sweep |\n|---|---|---|---|---|')
    for path in sorted(paths, key=lambda p: (switches(p), p)):
        values = compare(path)
        cells = ['%.2f, %.2f, %.2f' % (a, b, b / a) for a, b in (values[:2], values[2:4], values[4:])]
        print('| %s | %d | %s |' % (os.path.basename(path).rsplit('.', 1)[0], switches(path), ' | '.join(cells)), flush=True)


if __name__ == '__main__':
    main()
