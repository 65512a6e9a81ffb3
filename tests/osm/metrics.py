# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The files for operators' tools: metrics_dir."""
import json
import os
import re
import threading
import time

import oracle
import promlint
from judge import QOS, expect, generate, judge, scenario
from osmtest import Fabric, find_fabric, Opensm, patience, pause, routed, running, wait_for


def read_json(directory):
    names = [n for n in os.listdir(directory) if n.endswith('.json')]
    expect(len(names) == 1, 'expected one JSON file: %s' % os.listdir(directory))
    with open(os.path.join(directory, names[0])) as file:
        return json.load(file)


def read_prom(directory, ask_promtool=True):
    """{(name, label values without port and engine): number}, after the lint."""
    names = [n for n in os.listdir(directory) if n.endswith('.prom')]
    expect(len(names) == 1, 'expected one Prometheus file: %s' % os.listdir(directory))
    with open(os.path.join(directory, names[0])) as file:
        metrics = promlint.read(file.read(), ask_promtool)
    return {(name[len('osmroutes_'):],) + tuple(v for k, v in labels if k not in ('sm_port', 'engine')):
            value for (name, labels), value in metrics.items()}


def both(directory):
    """Both files, which must agree in every number that both have."""
    def written():	# by a thread of its own, when the sweep is over
        data, prom = read_json(directory), read_prom(directory)
        return prom[('last_sweep_timestamp_seconds',)] == data['time'] and (data, prom)

    pause(0.2)
    data, prom = wait_for('two files of one sweep', written, 10)
    for group in ('fabric', 'vls', 'load', 'routes', 'lft', 'sl2vl', 'refused', 'stable'):
        for name, value in data.get(group, {}).items():
            other = prom.get(('%s_%s' % (group, name),))
            expect(other is not None and abs(other - value) <= 1e-6 * max(1, value),
                   '%s %s is %s in JSON and %s for Prometheus' % (group, name, value, other))
    for phase, ms in data['ms'].items():
        expect(abs(prom[('sweep_duration_seconds', phase)] * 1e3 - ms) < 1e-4, 'ms of ' + phase)
    for claim in ('minimal', 'deadlock_free', 'reversible', 'any_sl', 'multicast'):
        expect(prom.get(('proven', claim), 0) == (claim in data['check']['proven']), 'claim ' + claim)
    expect(prom[('check_passed',)] == data['check']['passed'], 'check_passed')
    for outcome, n in data['sweeps'][data['engine']].items():
        expect(prom[('sweeps_total', outcome)] == n, 'sweeps ' + outcome)
    return data


def agree(directory, log):
    """What the files say of a checked sweep is what the log says, which judge() examines."""
    data, logged = both(directory), routed(log)[-1]
    del logged['sl2vl']		# known later
    expect({name: data[name] for name in logged} == logged, 'the file says %s, the log %s' % (data, logged))
    if data['stable']['kept'] and data['lft']['entries_changed']:
        said = re.findall(r', transition (.*?);', log)[-1]
        expect(bool(data['stable']['together']) == said.startswith('deadlock-free'), 'the log says %s' % said)
    ms = data['ms']
    parts = ms['snapshot'] + ms['route'] + ms['check'] + ms['publish']
    expect(0 < parts <= ms['total'] + 1e-3, 'phases of %.4f ms in %.4f' % (parts, ms['total']))
    expect(abs(time.time() - data['time']) < patience(60), 'the time is not that of the sweep')
    expect(not [n for n in os.listdir(directory) if n.startswith('.')], 'a hidden file is left')
    return data


@scenario('metrics.nobody-routes')
def nobody_routes(workdir):
    """no_fallback and an engine that refuses: nothing at all is published, and the file says that nobody routes."""
    directory = os.path.join(workdir, 'metrics')
    os.makedirs(directory)
    with Fabric(find_fabric('ring-5'), workdir) as fabric:
        with Opensm(fabric, 'dfsssp,no_fallback', plugin=True, options=QOS,
                    plugin_conf='metrics_dir = %s\non_error = refuse\nnonsense = 1\n' % directory) as opensm:
            wait_for('the files', lambda: len(os.listdir(directory)) == 2, 30)
            data = both(directory)
            expect(data['outcome'] == 'refused' and data['routed_by'] == '', 'refused: %s' % data)
            wait_for('the refusal', lambda: 'OR03' in opensm.log, 30)
            pause(1)
            tables = fabric.tables('lft')
            expect(opensm.engine_used() is None, '%s routed' % opensm.engine_used())
            expect(all(set(s.lft) <= {oracle.NO_PATH} for s in tables.switches), 'something was published')


@scenario('metrics.whole-files')
def whole_files(workdir):
    """A reader that looks all the time never sees half a file; a directory that is not there is one
    error line, and once it is there the files are."""
    directory = os.path.join(workdir, 'metrics')
    seen, failed, stop = [], [], threading.Event()

    def look():
        try:
            while not stop.is_set():
                # Those that are being written have names that begin with a dot.
                if os.path.isdir(directory) and len([n for n in os.listdir(directory) if n[0] != '.']) >= 2:
                    seen.append((read_json(directory)['sweeps']['dfsssp']['routed'], len(read_prom(directory, False))))
        except Exception as e:	# whatever it is, the test is to say it
            failed.append(repr(e))

    with running(workdir, 'ring-5', 'dfsssp',
                 plugin_conf='metrics_dir = %s\n' % directory) as (fabric, opensm):
        opensm.resweep()
        # A thread of its own writes the files.
        wait_for('a line about the files', lambda: 'OR12' in opensm.log, 10)
        expect(len([l for l in opensm.errors() if 'OR12' in l]) == 1, 'not one line about the files')
        expect(directory in opensm.errors()[0], 'the line does not name the file')
        os.makedirs(directory)
        opensm.resweep()
        thread = threading.Thread(target=look)
        thread.start()
        for _ in range(8):
            opensm.resweep()
        wait_for('the reader to see several files', lambda: failed or len(seen) > 8 and len(set(seen)) > 1, 30)
        stop.set()
        thread.join()
        expect(not failed, 'the reader saw: %s' % failed)
    opensm.check_log(expected=('OR12',))


# Hosts, switches, VLs and how many there are; proven; not proven; the load by the least, and as it is; what changed; ms.
LINE = re.compile(r'osmroutes: dfsssp: (\d+) hosts? on (\d+) switch(?:es)?, (\d) of (\d) VLs; proven: ([^;]*)(?:; not proven: ([^;]*))?'
                  r'; busiest link ([\d.]+) times the least possible \((\d+) routes\)(?:; \d+ of \d+ routes not minimal \(\d+ of \d+ between hosts\))?'
                  r'; ([^;]*); [\d.]+ ms$', re.M)


@scenario('log.line')
def one_line(workdir):
    """Without log_details a sweep is one line, and true: hosts, proofs and load as they are read from the switches. What is not
    proven is in it, and on a line of its own."""
    options = dict(QOS, sweep_interval=0)
    os.makedirs(workdir, exist_ok=True)
    torus = generate(os.path.join(workdir, 'torus.net'), 'torus', 'dims=6x6')
    for net, engine_options, lacks in ((torus, '', None), (find_fabric('ring-5'), '', None),
                                       (find_fabric('ring-5'), '[dfsssp]\nany_sl = off\n', 'any SL')):
        with running(workdir, net, 'dfsssp', options=options, name='opensm-%s' % bool(lacks),
                     plugin_conf='log_details = no\n' + engine_options) as (fabric, opensm):
            before = len(LINE.findall(opensm.log))
            opensm.change()
            tables = fabric.tables()
            name, port = next((s.name, p) for s in tables.switches for p in sorted(s.next))
            said = [LINE.findall(opensm.log)[-1]]
            opensm.change(fabric.unlink(name, port))
            # OpenSM may sweep once more, when nothing is left to change.
            said.append([line for line in LINE.findall(opensm.log) if 'entries changed' in line[8]][-1])
            after = fabric.tables()
            log = opensm.log
        first = LINE.search(log).groups()
        expect(before == 1 and first[8] == 'first tables', 'the first sweep: %s' % (first,))
        expect(said[0][8] == 'no LFT entry changed', said[0])
        expect(re.match(r'\d+ of \d+ LFT entries changed by an? \w+ re-route, transition (deadlock-free|can deadlock)', said[1][8]),
               said[1][8])
        for line, found in zip(said, (tables, after)):
            efi, _ = found.edge_forwarding_index()
            hosts, switches, vls, budget, proven, not_proven, times, routes, _ = line
            expect((int(hosts), int(switches), int(routes)) == (len(found.host_lids), len(found.switches), efi), line)
            # The oracle's least load is a floor of the bound, which is no higher than the load.
            expect(0.994 < float(times) < efi / found.least_load() + 0.006, 'the least is %d: %s' % (found.least_load(), line))
            expect(proven.startswith('reachable, deadlock-free, replies') and 1 <= int(vls) <= int(budget), line)
            if lacks and int(vls) > 1:
                expect(lacks in not_proven and 'warning: only packets on the SL of their path record' in log, 'not said: %s' % (line,))
        # One line a sweep: what is left are lines of the start, warnings, and what OpenSM says.
        own = [l.split('osmroutes: ', 1)[1] for l in log.splitlines() if 'osmroutes: dfsssp: ' in l]
        other = [l for l in own if not LINE.search('osmroutes: ' + l) and 'warning: ' not in l]
        expect(all(re.search('stored tables|virtual lanes available', l) for l in other) and len(other) == 2, 'more than one line a sweep: %s' % other)
