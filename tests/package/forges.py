# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""forges.py PROJECT

The recipes for public forges do what .ci/run does: they call it, every script they name is there and may
be run, and .ci/run itself ends in scripts/test.
"""
import os
import re
import sys

PROJECT = sys.argv[1]
RECIPES = ['.github/workflows/test.yml', '.gitlab-ci.yml']
errors = []


def read(path):
    with open(os.path.join(PROJECT, path), encoding='utf-8') as file:
        return file.read()


for recipe in RECIPES:
    text = read(recipe)
    if not re.search(r'^ *- (?:run: )?\.ci/run$', text, re.M):
        errors.append('%s does not call .ci/run' % recipe)
    if '\t' in text:
        errors.append('%s: YAML has no tabs' % recipe)
    for script in set(re.findall(r'(?<![\w/.-])((?:\.ci|scripts)/[\w-]+)', text)):
        if not os.access(os.path.join(PROJECT, script), os.X_OK):
            errors.append('%s calls %s, which is not there' % (recipe, script))
if not re.search(r'^exec scripts/test "\$@"$', read('.ci/run'), re.M):
    errors.append('.ci/run does not run scripts/test')
for error in errors:
    print(error)
print('%d recipes, %d mistakes' % (len(RECIPES), len(errors)))
sys.exit(1 if errors else 0)
