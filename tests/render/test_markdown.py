import pytest

from diagnose.render import markdown


@pytest.mark.parametrize(
    "name", ["one_root", "two_roots", "symptoms_only", "healthy", "no_evidence"]
)
def test_golden(name, request, golden):
    golden(f"{name}.md", markdown.render(request.getfixturevalue(name)))


def test_the_short_form_is_that_of_the_text(one_root):
    assert "Also weighed" not in markdown.render(one_root)
    assert "Also weighed" in markdown.render(one_root, verbose=True)


def test_texts_are_not_read_as_markdown_or_html(one_root):
    one_root.findings[0].title = "<img src=x> **bold** [a](http://b) `c` # d @all"
    head = markdown.render(one_root).split("\n")[0]
    assert head.startswith(
        "## Root cause: \\<img src=x\\> \\*\\*bold\\*\\* \\[a\\](http://b) \\`c\\` \\# d \\@all"
    )


def test_a_log_line_cannot_leave_its_fence(one_root):
    one_root.findings[0].evidence[0].text = "```\n# out\n````\x1b[0m"
    drawn = markdown.render(one_root)
    assert "  `````\n  ```\n  # out\n  ````\\x1b[0m\n  `````\n" in drawn
    assert "\x1b" not in drawn


def test_a_file_name_with_ticks(one_root):
    one_root.findings[0].evidence[0].file = "a`b.log"
    assert "- `` a`b.log:20411 ``\n" in markdown.render(one_root)


def test_placeholders_are_seen(one_root):
    one_root.findings[0].playbook.steps[0].text = "Log in to <host>"
    assert "1. Log in to \\<host\\>\n" in markdown.render(one_root)
