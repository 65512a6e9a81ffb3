# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Markdown of what was measured."""
import os
import platform
import re
import subprocess
import time

from osmtest import OPENSM, ROOT
from targets import number, over_average, percent

BEGIN, END = '<!-- bench: begin -->', '<!-- bench: end -->'


def table(head, rows):
    lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    lines += ['| ' + ' | '.join(str(c) for c in row) + ' |' for row in rows]
    return '\n'.join(lines)


def _machine():
    model = platform.machine()
    try:
        with open('/proc/cpuinfo') as file:
            model = re.search(r'model name\s*:\s*(.*)', file.read()).group(1)
    except (OSError, AttributeError):
        pass
    return '%s, %d cores, Linux %s' % (model, os.cpu_count(), platform.release().split('-')[0])


def _opensm():
    try:
        said = subprocess.run([OPENSM, '--version'], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=10).stdout
        return re.search(r'OpenSM [\d.]+', said).group(0)
    except (OSError, AttributeError, subprocess.TimeoutExpired):
        return 'OpenSM'


def _commit():
    """Of what was built, where that is known."""
    done = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return os.environ.get('OSR_COMMIT') or done.stdout.strip()


def _spread(outcome):
    if len(outcome.cpu) < 2:
        return number(outcome.ms)
    return '%s (%s-%s)' % (number(outcome.ms), number(min(outcome.cpu)), number(max(outcome.cpu)))


def _vls(outcome):
    if outcome.vls is None:
        return '-'
    if outcome.one_way in (None, outcome.vls):
        return str(outcome.vls)
    return '%d (one-way %d)' % (outcome.vls, outcome.one_way)


def _row(key, o):
    cost = [_spread(o), number(o.kb / 1e3), '%.2f' % (sorted(o.sweep)[len(o.sweep) // 2] / 1e3)]
    if not o.ok:
        return [key] + cost + [o.said] + ['-'] * 4
    t = o.tables
    return [key] + cost + [_vls(o), number(t['efi']), '%.3f' % over_average(t),
                           '-' if o.ebb is None else '%.3f' % o.ebb,
                           percent(t)]


HEAD = ['engine', 'CPU ms (fastest-slowest)', 'memory +MB', 'whole sweep s', 'VLs needed', 'EFI',
        'EFI / average', 'eBB', 'longer paths']


def _fabric(plan, got):
    first = next(o.tables for o in got.values() if o.tables)
    text = '### %s\n\n%d switches, %s pairs of hosts, average over the channels %s%s\n\n' % (
        plan.title, plan.switches, number(first['pairs']), number(first['efi_minimal'], 5),
        ', least possible EFI %s' % number(plan.bound) if plan.bound else '')
    return text + table(HEAD, [_row(k, o) for k, o in got.items()])


def _budget_cells(row):
    if row['status'] != 'ok':
        return [row['message'], '', '', '']
    share = row['routes_longer'] / row['routes'] if row['routes'] else 0
    mean = row['efi_mean']
    return [row['layers'], '%s (%.2f)' % (number(row['efi']), row['efi'] / mean if mean else 0),
            '%.1f %%' % (100 * share) if share else '0',
            '%.3f' % row['ebb'] if 'ebb' in row else '-']


def _budgets(results):
    """Ours for every number of VLs, by the command: no simulator, so every fabric is there."""
    rows = [[plan.title, n] + _budget_cells(row) for plan, _, budgets in results
            for n, row in sorted((budgets or {}).items())]
    return '### dfsssp of osmroutes by budget of VLs, replies safe where that fits\n\n' + table(
        ['fabric', 'budget', 'VLs needed', 'EFI (over average)', 'longer routes', 'eBB'], rows)


def _offline(title, runs):
    rows = [[number(r['route_ms']['cpu']), number(r['route_ms']['wall']), number(r['spf_ms']),
             number(r['layers_ms']), number(r['check_ms']['cpu']), number(r['peak_rss_kb'] / 1e3),
             number(r['efi']), r['layers']] for r in runs]
    return '### %s\n\n%d switches, %s LIDs\n\n' % (
        title, runs[0]['size']['switches'], number(runs[0]['size']['lids'])) + table(
            ['route, CPU ms', 'wall ms', 'of it paths', 'of it lanes', 'check', 'peak MB',
             'EFI', 'VLs needed'], rows)


def markdown(run):
    head = 'Measured on %s: %s, osmroutes %s, %s.' % (time.strftime('%Y-%m-%d'), _opensm(), _commit(),
                                                      _machine())
    parts = [head, '## Figures']
    parts += [_fabric(plan, got) for plan, got, _ in run.results]
    if any(budgets for _, _, budgets in run.results):
        parts.append(_budgets(run.results))
    if run.offline:
        parts.append(_offline(*run.offline))
    return '\n\n'.join(parts)


def update(path, text):
    with open(path) as file:
        old = file.read()
    head, mark, rest = old.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not mark or not end:
        raise SystemExit('%s has no lines "%s" and "%s"' % (path, BEGIN, END))
    with open(path, 'w') as file:
        file.write(head + BEGIN + '\n' + text + '\n' + END + tail)
