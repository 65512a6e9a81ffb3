# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""share/monitoring: the alarms and the dashboard, against what both exporters write in a real run. promtool (Debian's package
prometheus) and Grafana's schema (the package grafana-foundation-sdk of PyPI) have their say where they are installed."""
import json
import os
import re
import shutil
import subprocess

import promlint
from judge import expect, scenario
from metrics import both
from osmtest import COMMAND, ROOT, Skip, running, wait_for

SHARE = os.path.join(ROOT, 'share', 'monitoring')
RULES = os.path.join(SHARE, 'osmroutes.rules.yml')
BOARD = os.path.join(SHARE, 'osmroutes-dashboard.json')
SELECTOR = re.compile(r'(osmroutes_\w+)(?:\{([^}]*)\})?')
# A value of each alarm's metric at which it must be heard, with the labels that decide.
HEARD = {
    'OsmroutesNotChecked': ('osmroutes_check_passed', {}, 0),
    'OsmroutesDeadlockPossible': ('osmroutes_proven', {'claim': 'deadlock_free'}, 0),
    'OsmroutesAnySlNotProven': ('osmroutes_proven', {'claim': 'any_sl'}, 0),
    'OsmroutesFabricSplit': ('osmroutes_routes_unreachable', {}, 12),
    'OsmroutesTablesRefused': ('osmroutes_refused_nodes', {}, 1),
    'OsmroutesHostsWithoutLid': ('osmroutes_fabric_end_ports_without_lid', {}, 3),
    'OsmroutesLoadHigh': ('osmroutes_load_efi_over_bound', {}, 2.5),
    'OsmroutesDrift': ('osmroutes_stable_drift', {}, 1.6),
    'OsmroutesSlsLost': ('osmroutes_stable_sls_lost', {}, 1),
    'OsmroutesLinksHeldDown': ('osmroutes_fabric_links_held_down', {}, 1),
    'OsmroutesDrainedLong': ('osmroutes_fabric_drained', {}, 2),
    'OsmroutesNoMaster': ('osmroutes_master', {}, 0),
    'OsmroutesCheckRefuted': ('osmroutes_check_answer', {'question': 'one_way'}, -1),
    'OsmroutesHostsCutOff': ('osmroutes_check_pairs_lost', {}, 4),
    'OsmroutesCheckLoadHigh': ('osmroutes_check_efi_per_capacity', {}, 1e6),
    'OsmroutesCheckStale': ('osmroutes_check_time_seconds', {}, -7200),
}


def exported(workdir, name='dfsssp'):
    """What both files hold after a run, {(metric, labels): value}; times count from now."""
    folder, verdict = os.path.join(workdir, 'metrics'), os.path.join(workdir, 'check.prom')
    os.makedirs(folder)
    with running(workdir, 'tree-3', name, plugin_conf='metrics_dir = %s\n' % folder) as (fabric, _):
        wait_for('the files', lambda: len([n for n in os.listdir(folder) if n[0] != '.']) == 2, 30)
        both(folder)
        fabric.run([COMMAND, 'check', '--live', '--prom', verdict])
        text = ''
        for path in [os.path.join(folder, n) for n in os.listdir(folder) if n.endswith('.prom')] + [verdict]:
            with open(path) as file:
                text += file.read()
    found = promlint.read(text)
    return {key: 0 if key[0].endswith(('timestamp_seconds', 'time_seconds')) else value for key, value in found.items()}


def expressions():
    """Of the alarms and of all panels, each with where it stands."""
    with open(RULES) as file:
        rules = re.findall(r'- alert: (\w+)\n +expr: (.*)\n', file.read())
    with open(BOARD) as file:
        board = json.load(file)
    panels = [(panel['title'], target['expr']) for panel in board['panels'] for target in panel['targets']]
    variables = [(v['name'], v['query']) for v in board['templating']['list'] if v['type'] == 'query']
    return rules, panels + variables, board


def find(series, name, wanted):
    return [labels for metric, labels in series if metric == name and set(wanted.items()) <= set(labels)]


def check_known(series, where, expression):
    """Every metric is written, with the labels that are asked for."""
    names = SELECTOR.findall(expression)
    expect(names, '%s asks for nothing: %s' % (where, expression))
    for name, selector in names:
        same = dict(re.findall(r'(\w+)="([^"]*)"', selector))
        keys = set(re.findall(r'(\w+)=', selector))
        expect(find(series, name, same), '%s: no exporter writes %s{%s}' % (where, name, selector))
        expect(any(keys <= {k for k, _ in labels} for metric, labels in series if metric == name),
               '%s: %s has no label of %s' % (where, name, sorted(keys)))


def series_of(series, changed=None):
    """As the input of promtool: constant, but for the times, which go on, and for what an alarm is about."""
    rows = []
    for (name, labels), value in series.items():
        text = '%s{%s}' % (name, ','.join('%s="%s"' % label for label in labels))
        start, step = value, 600 if name.endswith(('timestamp_seconds', 'time_seconds')) else 0
        if changed and name == changed[0] and set(changed[1].items()) <= set(labels):
            start, step = changed[2], 0
        rows.append({'series': text, 'values': '%.9g%+dx1200' % (start, step)})
    return rows


@scenario('metrics.alarms')
def alarms(workdir):
    """A healthy run is silent for a week; each alarm is heard when its metric is bad, and no other is."""
    promtool = shutil.which('promtool')
    if not promtool:
        raise Skip('no promtool; it is in the package prometheus')
    names, series = [name for name, _ in expressions()[0]], exported(workdir)
    expect(sorted(names) == sorted([*HEARD, 'OsmroutesLastResort']), 'alarms that no case rings: %s' % names)

    def case(name, rows, at='3h'):
        return {'interval': '10m', 'name': name, 'input_series': rows, 'promql_expr_test': [
            {'expr': 'count(ALERTS{alertname="%s",alertstate="firing"}) or vector(0)' % alarm, 'eval_time': at,
             'exp_samples': [{'labels': '{}', 'value': int(alarm == name)}]} for alarm in names]}

    last = {'series': 'osmroutes_sweeps_total{sm_port="x",engine="dfsssp",outcome="failed"}', 'values': '0x10 1x100'}
    cases = [case('healthy', series_of(series), '8d'), case('OsmroutesLastResort', series_of(series) + [last])]
    cases += [case(alarm, series_of(series, changed), '8d' if alarm == 'OsmroutesDrainedLong' else '3h') for alarm, changed in HEARD.items()]
    path = os.path.join(workdir, 'alarms.json')
    with open(path, 'w') as file:
        json.dump({'rule_files': [RULES], 'evaluation_interval': '10m', 'tests': cases}, file)
    for words in ['check', 'rules', RULES], ['test', 'rules', path]:
        done = subprocess.run([promtool, *words], capture_output=True, text=True)
        expect(not done.returncode, 'promtool %s: %s' % (words[0], (done.stdout + done.stderr)[-2000:]))


def lost(given, kept, where=''):
    """What a schema drops or changes: it does not know it."""
    if isinstance(given, dict):
        for key, value in given.items():
            yield from lost(value, kept[key], '%s.%s' % (where, key)) if isinstance(kept, dict) and key in kept else [where + '.' + key]
    elif isinstance(given, list):
        yield from (step for i, value in enumerate(given) for step in lost(value, kept[i] if i < len(kept or []) else None, '%s[%d]' % (where, i)))
    elif given != kept:
        yield '%s: %r becomes %r' % (where, given, kept)


@scenario('metrics.schema')
def schema(workdir):
    """Grafana's schema knows every key of the dashboard."""
    try:
        from grafana_foundation_sdk.cog import plugins
        from grafana_foundation_sdk.cog.encoder import JSONEncoder
        from grafana_foundation_sdk.models.dashboard import Dashboard
    except ImportError:
        raise Skip('no schema of Grafana; it is in the package grafana-foundation-sdk of PyPI') from None
    board = expressions()[2]
    plugins.register_default_plugins()

    def unknown(dashboard):
        return list(lost(dashboard, json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))))

    expect(not unknown(board), 'Grafana knows no %s' % unknown(board))
    # It does see what it does not know.
    wrong = json.loads(json.dumps(board))
    wrong['panels'][0]['fieldConfig']['defaults']['untis'] = wrong['panels'][0]['titel'] = 'x'
    expect(len(unknown(wrong)) == 2, 'two wrong keys are %s' % unknown(wrong))


@scenario('metrics.dashboard')
def dashboard(workdir):
    """Alarms and panels ask for what a real run writes; admin.md lists all alarms."""
    rules, panels, board = expressions()
    series = exported(workdir)
    for where, expression in rules + panels:
        check_known(series, where, expression)
    with open(os.path.join(ROOT, 'docs', 'admin.md')) as file:
        listed = re.findall(r'^\| `(Osmroutes\w+)` \|', file.read(), re.M)
    expect(listed == [name for name, _ in rules], 'docs/admin.md lists %s' % listed)
    boxes = [panel['gridPos'] for panel in board['panels']]
    expect(all(b['x'] + b['w'] <= 24 for b in boxes) and len({(b['x'], b['y']) for b in boxes}) == len(boxes), 'panels on each other')
