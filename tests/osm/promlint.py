# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Reads and judges Prometheus's text format, as `promtool check metrics` does: the grammar of the
exposition format, HELP and TYPE before the samples of a metric and once, samples of one metric together
and no two alike, counters (and they alone) in _total, no units but base units in a name.

    metrics = read(text)         # {(name, ((label, value), ...)): number}; raises Bad

If promtool is installed, it has its say as well.
"""
import re
import shutil
import subprocess

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
NOT_BASE = re.compile(r'_(milliseconds|ms|microseconds|us|minutes|hours|kilobytes|kb|percent|bits)(_|$)')


class Bad(Exception):
    """A line that promtool would not like."""


def labels_of(text, line):
    labels, at = [], 0
    while at < len(text):
        found = LABEL.match(text, at)
        if not found:
            raise Bad('labels: ' + line)
        labels.append(found.groups())
        at = found.end()
    if len({name for name, _ in labels}) != len(labels):
        raise Bad('a label twice: ' + line)
    return tuple(sorted(labels))


def check_name(name, kind):
    if NOT_BASE.search(name):
        raise Bad('%s: not a base unit' % name)
    if (kind == 'counter') != name.endswith('_total'):
        raise Bad('%s: _total is for counters, and for all of them' % name)
    if kind == 'gauge' and re.search(r'_(count|sum|bucket)$', name):
        raise Bad('%s: the name of a part of a histogram' % name)


def read(text, ask_promtool=True):
    if not text.endswith('\n'):
        raise Bad('the last line does not end')
    helped, kinds, metrics, closed, current = set(), {}, {}, set(), None
    for line in text.splitlines():
        comment = re.match(r'# (HELP|TYPE) (%s) (.+)$' % NAME, line)
        sample = re.match(r'(%s)(?:\{(.*)\})? (\S+)$' % NAME, line)
        name = comment.group(2) if comment else sample.group(1) if sample else None
        if not name:
            raise Bad('neither a comment nor a sample: ' + line)
        if name != current:
            closed.add(current)
            current = name
        if name in closed:
            raise Bad('%s: its lines do not stand together' % name)
        if comment and comment.group(1) == 'HELP':
            if name in helped:
                raise Bad('%s: HELP twice' % name)
            helped.add(name)
        elif comment:
            if name in kinds or comment.group(3) not in ('counter', 'gauge'):
                raise Bad('%s: TYPE twice, or unknown' % name)
            kinds[name] = comment.group(3)
            check_name(name, kinds[name])
        else:
            if name not in helped or name not in kinds:
                raise Bad('%s: no HELP or TYPE before it' % name)
            key = (name, labels_of(sample.group(2) or '', line))
            if key in metrics:
                raise Bad('twice: ' + line)
            metrics[key] = float(sample.group(3))
    promtool = shutil.which('promtool')
    if promtool and ask_promtool:
        run = subprocess.run([promtool, 'check', 'metrics'], input=text, text=True,
                             capture_output=True)
        if run.returncode:
            raise Bad('promtool: ' + run.stderr)
    return metrics
