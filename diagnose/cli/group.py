"""``diagnose PATH...`` without a command, and the exit status of every mistake."""

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from diagnose.cli.output import discard_output
from diagnose.errors import INTERRUPTED, DiagnoseError, RuleErrors

NEAR = 0.75
"""How like a word must be to be taken for a misspelling of another."""

_PATH_LIKE = re.compile(r"[/\\.*?\[:]")


class DefaultRun(click.Group):
    """A group whose command is ``run`` unless the first word is one of its commands.

    Args:
        elsewhere: Commands that are imported when they are asked for, with their modules.
    """

    def __init__(self, *args: Any, elsewhere: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.elsewhere = elsewhere

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*self.commands, *self.elsewhere})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name not in self.elsewhere:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(
            import_module(f"diagnose.cli.{self.elsewhere[cmd_name]}"), cmd_name
        )
        return command

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the program; help that cannot be written ends with a message as well."""
        try:
            return super().main(*args, **options)
        except OSError as error:
            discard_output()
            click.echo(f"Error: {error.strerror or error}", err=True)
            sys.exit(DiagnoseError.exit_code)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what the first word may be: a command, a path, or an option of ``run``."""
        found = super().shell_complete(ctx, incomplete)
        run = self.commands["run"]
        if not incomplete.startswith("-"):
            return [CompletionItem(incomplete, type="file"), *found]
        known = {item.value for item in found}
        more = run.shell_complete(click.Context(run), incomplete)
        return [*found, *(item for item in more if item.value not in known)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command first, so that options may stand before it or before the path."""
        own = {name for option in self.get_params(ctx) for name in option.opts}
        if not args or args[0] in own:
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, self._with_command(ctx, args))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; mistakes of the user end with a message and their exit status."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            near = _misspelled(error.option_name, error.possibilities or ())
            raise click.NoSuchOption(error.option_name, possibilities=near, ctx=error.ctx) from None
        except DiagnoseError as error:
            # Mistakes in files begin with the place, which editors and terminals make clickable.
            prefix = "" if isinstance(error, RuleErrors) else "Error: "
            click.echo(f"{prefix}{error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)

    def _with_command(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = self._first_word(args)
        if place is None:
            return ["run", *args]
        options, word, rest = args[:place], args[place], args[place + 1 :]
        command = self.get_command(ctx, word)
        if command is None:
            if not ctx.resilient_parsing:
                self._refuse_misspelling(ctx, word)
            return ["run", *args]
        if isinstance(command, click.Group) and rest:
            return [word, rest[0], *options, *rest[1:]]
        return [word, *options, *rest]

    def _first_word(self, args: list[str]) -> int | None:
        """Return the place of the first argument that is neither an option nor its value."""
        with_value = {
            name
            for option in self.commands["run"].params
            if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }
        value_follows = False
        for place, word in enumerate(args):
            if value_follows:
                value_follows = False
            elif word == "--":
                return None
            elif word == "-" or not word.startswith("-"):
                return place
            else:
                value_follows = word in with_value
        return None

    def _refuse_misspelling(self, ctx: click.Context, word: str) -> None:
        """Stop at ``diagnose rule list``: it means a command, not a missing folder."""
        if _PATH_LIKE.search(word) or Path(word).exists():
            return
        near = difflib.get_close_matches(word, self.list_commands(ctx), n=1, cutoff=NEAR)
        if near:
            raise click.UsageError(
                f"There is no command and no file {word!r}. Did you mean {near[0]!r}? "
                f"A path of that name is given as ./{word}."
            )


def _misspelled(option: str, possible: Iterable[str]) -> list[str]:
    """Return the options of which one is likely a misspelling; the dashes do not count."""
    words = {name.lstrip("-"): name for name in possible}
    near = difflib.get_close_matches(option.lstrip("-"), words, cutoff=NEAR)
    return [words[name] for name in near]
