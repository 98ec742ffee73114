"""``diagnose PATH...`` without a command, and the exit status of every mistake."""

import difflib
import re
from pathlib import Path
from typing import Any

import click

from diagnose.errors import DiagnoseError, RuleErrors

INTERRUPTED = 130

_PATH_LIKE = re.compile(r"[/\\.*?\[:]")


class DefaultRun(click.Group):
    """A group whose command is ``run`` unless the first word is one of its commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command first, so that options may stand before it or before the path."""
        own = {name for option in self.get_params(ctx) for name in option.opts}
        if not args or args[0] in own:
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, self._with_command(args, strict=not ctx.resilient_parsing))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; mistakes of the user end with a message and their exit status."""
        try:
            return super().invoke(ctx)
        except DiagnoseError as error:
            # Mistakes in files begin with the place, which editors and terminals make clickable.
            prefix = "" if isinstance(error, RuleErrors) else "Error: "
            click.echo(f"{prefix}{error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)

    def _with_command(self, args: list[str], *, strict: bool) -> list[str]:
        place = self._first_word(args)
        if place is None:
            return ["run", *args]
        options, word, rest = args[:place], args[place], args[place + 1 :]
        command = self.commands.get(word)
        if command is None:
            if strict:
                self._refuse_misspelling(word)
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

    def _refuse_misspelling(self, word: str) -> None:
        """Stop at ``diagnose rule list``: it means a command, not a missing folder."""
        if _PATH_LIKE.search(word) or Path(word).exists():
            return
        near = difflib.get_close_matches(word, self.commands, n=1, cutoff=0.75)
        if near:
            raise click.UsageError(
                f"There is no command and no file {word!r}. Did you mean {near[0]!r}? "
                f"A path of that name is given as ./{word}."
            )
