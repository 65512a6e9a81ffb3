# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Reads and judges Prometheus's text format, more strictly than `promtool check metrics`, which has its say as well where it is
installed: HELP, TYPE and all samples of a metric stand together and once, no two samples alike, counters (and they alone) end
in _total, no name has a unit but base units, or is that of a part of a histogram."""
import re
import shutil
import subprocess

LABEL = r'[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = r'(?:\{((?:%s(?:,|(?=\})))*)\})? (\S+)\n' % LABEL
METRIC = re.compile(r'# HELP ([a-zA-Z_:][\w:]*) .+\n# TYPE \1 (counter|gauge)\n((?:\1%s)+)' % SAMPLE, re.A)
NOT_BASE = re.compile(r'_(milliseconds|ms|microseconds|us|minutes|hours|kilobytes|kb|percent|bits)(_|$)|_(count|sum|bucket)$')


class Bad(Exception):
    """What promtool would not like."""


def read(text, ask_promtool=True):
    """{(name, ((label, value), ...)): number}"""
    metrics, names, at = {}, set(), 0
    while at < len(text):
        found = METRIC.match(text, at)
        if not found:
            raise Bad('no metric: ' + text[at:at + 200])
        at = found.end()
        name, kind, samples = found.groups()[:3]
        if name in names or NOT_BASE.search(name) or (kind == 'counter') != name.endswith('_total'):
            raise Bad('%s: twice, not a base unit, or _total, which is for counters and for all of them' % name)
        names.add(name)
        for labels, value in re.findall(re.escape(name) + SAMPLE, samples, re.A):
            labels = sorted(label.split('=', 1) for label in re.findall(LABEL, labels))
            key = name, tuple((label, value[1:-1]) for label, value in labels)
            if key in metrics or len(dict(labels)) < len(labels):
                raise Bad('twice: %s' % (key,))
            metrics[key] = float(value)
    promtool = shutil.which('promtool')
    if promtool and ask_promtool:
        run = subprocess.run([promtool, 'check', 'metrics'], input=text, text=True, capture_output=True)
        if run.returncode:
            raise Bad('promtool: ' + run.stderr)
    return metrics
