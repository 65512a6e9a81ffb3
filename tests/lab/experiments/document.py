#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The tables of the pages of docs/results, from the CSV files; --check: do they show what these say?

A table stands between <!-- table: NAME WORD... --> and <!-- end -->. Without words it has the columns
of the file; columns=A,B: these; rows=A,B pivot=C value=D: a column for each C; rows=A mean=B,C/D
max=E: how many rows each A has, their means, also of quotients, and largest values.
"""
import glob
import os
import re
import statistics
import sys

import studies

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..', 'docs', 'results')
DATA = os.path.join(RESULTS, 'data')


def cell(text):
    if re.fullmatch(r'-?\d+\.\d+(e.*)?', text):
        return '%.4g' % float(text) if abs(float(text)) < 10000 else '{:,.0f}'.format(float(text))
    return '{:,}'.format(int(text)) if text.isdigit() else text or '-'


def pivoted(rows, keys, pivot, value):
    lines = {}
    for row in rows:
        column = ' '.join(row[c] for c in pivot.split(','))
        lines.setdefault(tuple(row[k] for k in keys), {})[column] = row[value]
    columns = list(dict.fromkeys(c for line in lines.values() for c in line))
    return [keys + columns] + [[*key, *(line.get(c, '') for c in columns)]
                               for key, line in lines.items()]


def quotient(row, words):
    over, _, under = words.partition('/')
    return float(row[over]) / (float(row[under]) if under else 1)


def summed(rows, keys, mean, most):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in keys), []).append(row)
    means, largest = mean.split(','), most.split(',') if most else []
    lines = [keys + ['number'] + ['mean ' + m for m in means] + ['largest ' + m for m in largest]]
    for key, group in groups.items():
        lines.append([*key, str(len(group))] +
                     ['%.4f' % statistics.mean(quotient(row, m) for row in group) for m in means] +
                     ['%.4f' % max(quotient(row, m) for row in group) for m in largest])
    return lines


def table(folder, text):
    name, *words = text.split()
    spec = dict(word.split('=', 1) for word in words)
    rows, keys = studies.read(folder, name), spec.get('rows', '').split(',')
    if not rows:
        sys.exit('%s: no table %s' % (folder, name))
    if 'pivot' in spec:
        lines = pivoted(rows, keys, spec['pivot'], spec['value'])
    elif 'mean' in spec:
        lines = summed(rows, keys, spec['mean'], spec.get('max'))
    else:
        columns = spec['columns'].split(',') if 'columns' in spec else list(rows[0])
        lines = [columns] + [[row[c] for c in columns] for row in rows]
    lines = [[word.replace('_', ' ') for word in lines[0]], ['---'] * len(lines[0])] + \
        [list(map(cell, line)) for line in lines[1:]]
    return '\n'.join('| %s |' % ' | '.join(line) for line in lines)


def filled(text, folder=DATA):
    def fill(match):
        return '<!-- table: %s -->\n\n%s\n\n<!-- end -->' % (
            match.group(1), table(folder, match.group(1)))
    return re.sub(r'<!-- table: (.*?) -->.*?<!-- end -->', fill, text, flags=re.S)


def main():
    for path in sorted(glob.glob(os.path.join(RESULTS, '*.md'))):
        with open(path) as file:
            text = file.read()
        new = filled(text)
        if '--check' in sys.argv and new != text:
            sys.exit('%s shows other numbers than docs/results/data: run '
                     'tests/lab/experiments/document.py' % path)
        if new != text:
            with open(path, 'w') as file:
                file.write(new)


if __name__ == '__main__':
    main()
