# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""forges.py PROJECT

The recipes for public forges do what .ci/run does: they call it, every script they name is there and may
be run, and .ci/run itself ends in scripts/test. Where PyYAML, check-jsonschema (which brings the schemas of
both forges) or actionlint are installed, these judge them as well.
"""
import os
import re
import shutil
import subprocess
import sys

PROJECT = sys.argv[1]
RECIPES = {'.github/workflows/test.yml': 'vendor.github-workflows', '.gitlab-ci.yml': 'vendor.gitlab-ci'}
errors = []


def read(path):
    with open(os.path.join(PROJECT, path), encoding='utf-8') as file:
        return file.read()


judges = set()


def judge(*words):
    run = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True)
    judges.add(words[0])
    if run.returncode:
        errors.append('%s says: %s' % (words[0], run.stdout + run.stderr))


for recipe in RECIPES:
    text = read(recipe)
    if not re.search(r'^ *- (?:run: )?\.ci/run$', text, re.M):
        errors.append('%s does not call .ci/run' % recipe)
    if '\t' in text:
        errors.append('%s: YAML has no tabs' % recipe)
    for script in set(re.findall(r'(?<![\w/.-])((?:\.ci|scripts)/[\w-]+)', text)):
        if not os.access(os.path.join(PROJECT, script), os.X_OK):
            errors.append('%s calls %s, which is not there' % (recipe, script))
    try:
        import yaml
        yaml.safe_load(text)
    except ImportError:
        pass
    except yaml.YAMLError as e:
        errors.append('%s: %s' % (recipe, e))
    if shutil.which('check-jsonschema'):
        judge('check-jsonschema', '--builtin-schema', RECIPES[recipe], recipe)
if shutil.which('actionlint'):
    judge('actionlint', '.github/workflows/test.yml')
if not re.search(r'^exec scripts/test "\$@"$', read('.ci/run'), re.M):
    errors.append('.ci/run does not run scripts/test')
for error in errors:
    print(error)
print('%d recipes, %d mistakes; judged by %s' % (
    len(RECIPES), len(errors), ', '.join(sorted(judges)) or 'this alone'))
sys.exit(1 if errors else 0)
