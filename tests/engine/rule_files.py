"""Small folders of rules: what their files hold."""

from textwrap import dedent

CAUSES = """\
- {id: comms.test, stage: comms, owner: network, symptoms: [1], title: A test}
- {id: dataflow.test, stage: dataflow, owner: storage, symptoms: [8], title: Another, open: true}
"""


def rule_text(name, cause="comms.test", match="{event: e.x}", **more):
    keys = {"id": name, "title": "T", "cause": cause, "role": "context", "match": match, **more}
    keys.setdefault("tests", "[]")
    return "".join(f"{key}: {value}\n" for key, value in keys.items() if value is not None)


def write(folder, **files):
    for name, text in files.items():
        path = folder / (name.replace("_", "-") + ".yaml")
        path.write_text(dedent(text))
