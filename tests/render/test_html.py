from html.parser import HTMLParser

import pytest

from diagnose.render import html

VOID = {"meta"}


class Checker(HTMLParser):
    """Collects tags and text, and holds that every element is closed in its turn."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text, self.values = [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.values += [value for name, value in attrs if name in ("src", "href", "onclick")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


NAMES = ["one_root", "two_roots", "symptoms_only", "healthy", "no_evidence"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("verbose", [False, True])
def test_a_page_is_whole_and_needs_nothing_else(name, lang, verbose, request):
    page = html.render(request.getfixturevalue(name), verbose=verbose, lang=lang)

    seen = Checker(page)

    assert page.startswith(f'<!DOCTYPE html>\n<html lang="{lang}">')
    assert seen.values == []
    assert not {"script", "link", "img", "iframe"} & set(seen.tags)


def test_it_says_what_the_text_says(one_root):
    said = " ".join(Checker(html.render(one_root)).text)
    finding = one_root.findings[0]

    assert finding.title in said
    assert f"{finding.evidence[0].file}:{finding.evidence[0].line}" in said
    assert finding.evidence[0].text in said


def test_texts_of_logs_are_no_markup(one_root):
    hostile = "<script>alert(1)</script>\x1b[2J & </pre>"
    one_root.findings[0].title = hostile
    one_root.findings[0].evidence[0].text = hostile
    one_root.findings[0].evidence[0].file = "<b>.log"

    page = html.render(one_root)

    assert "script" not in Checker(page).tags
    assert "\x1b" not in page
    assert "&lt;b&gt;.log" in page


def test_steps_keep_their_numbers(one_root):
    page = html.render(one_root)
    assert page.index('<li value="1">') < page.index('<li value="2">')
