# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Tables of results: one CSV file a study, in which each table begins with a line "# NAME" and its columns."""
import csv
import io
import os

# Tables are named STUDY or STUDY_WHAT; all others belong to the DFSSSP paper and its talk.
STUDIES = ('angara', 'dmodk', 'faults', 'keys', 'packets')


def file_of(folder, table):
    study = table.split('_')[0]
    return os.path.join(folder, (study if study in STUDIES else 'dfsssp') + '.csv')


def tables(path):
    """{name: text}, in their order."""
    found = {}
    if os.path.exists(path):
        with open(path, newline='') as file:
            for part in ('\n' + file.read()).split('\n# ')[1:]:
                name, text = part.split('\n', 1)
                found[name] = text.rstrip('\n') + '\n'
    return found


def names(folder):
    """Of all tables there are."""
    return {name for file in os.listdir(folder) if file.endswith('.csv') for name in tables(os.path.join(folder, file))}


def read(folder, table):
    """Rows as dictionaries; none where the table is not there."""
    return list(csv.DictReader(io.StringIO(tables(file_of(folder, table)).get(table, ''))))


def write(folder, table, rows):
    """rows: the names of the columns first."""
    path, text = file_of(folder, table), io.StringIO()
    csv.writer(text, lineterminator='\n').writerows(rows)
    every = dict(tables(path), **{table: text.getvalue()})
    with open(path, 'w', newline='') as file:
        file.write('\n'.join('# %s\n%s' % (name, every[name]) for name in sorted(every)))
