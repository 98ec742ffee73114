"""The pieces a report for people is made of, before a format draws them."""

from typing import NamedTuple


class Headline(NamedTuple):
    """The answer in one line.

    Args:
        label: Such as ``Root cause: ``; without a text behind it the whole line.
        text: What is wrong and who.
        tone: ``bad``, ``unsure`` or ``good``.
    """

    label: str
    text: str
    tone: str


class Prose(NamedTuple):
    """A paragraph; with a label, such as ``How sure: ``, it is a named value."""

    text: str
    label: str = ""


class Heading(NamedTuple):
    """Opens a section."""

    text: str


class Group(NamedTuple):
    """Opens a part of a section."""

    text: str


class Proof(NamedTuple):
    """A place in the logs with its text; ``whole`` texts are not cut to the width."""

    place: str
    text: str
    whole: bool


class Sparkline(NamedTuple):
    """A series in one row of bars.

    Args:
        label: What it is.
        values: One a bar; None where it is no number.
        said: Its numbers and steps, in words.
    """

    label: str
    values: tuple[float | None, ...]
    said: str


class Item(NamedTuple):
    """One entry of a list.

    Args:
        text: What it says.
        number: Its number, 0 for a list without numbers.
        tag: A word of warning shown with it, such as ``disruptive``.
    """

    text: str
    number: int = 0
    tag: str = ""


class Note(NamedTuple):
    """A remark on the entry above it."""

    text: str


class Command(NamedTuple):
    """What to type, on lines of its own and never wrapped; belongs to the entry above it."""

    text: str


class StageRow(NamedTuple):
    """One stage of diagnosis.

    Args:
        stage: Its name in the reader's language.
        state: Its state, likewise.
        checked: How many rules had something to look at, in words.
        why: What the state rests on.
        tone: As in ``Headline``, or ``none`` where there was nothing to look at.
        label: The name as it stands before what it names, such as ``comms: ``.
    """

    stage: str
    state: str
    checked: str
    why: str
    tone: str
    label: str


class Table(NamedTuple):
    """Rows of cells under a heading each; of each row the last cell has a tone.

    Args:
        head: Names of the columns.
        rows: As many cells each.
        tones: Of the last cell of each row, as in ``StageRow``.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[str, ...]


Block = (
    Headline
    | Prose
    | Heading
    | Group
    | Proof
    | Sparkline
    | Item
    | Note
    | Command
    | StageRow
    | Table
)
