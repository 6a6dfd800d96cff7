"""A document of headings, sentences, tables and fields to fill in; as Markdown, or as a page to print."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fenceline.problem.printable import printable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")
_STYLE = """
body { font: 11pt/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid #999 } h3 { font-size: 1rem }
table { border-collapse: collapse; width: 100%; margin: 0.6rem 0; font-size: 0.9em; overflow-wrap: break-word }
th, td { border: 1px solid #bbb; padding: 0.25rem 0.5rem; text-align: left; vertical-align: top }
.write { border: 1.5px dashed #a35200; padding: 0.4rem 0.7rem; margin: 0.6rem 0; min-height: 3.2rem }
.write b { color: #a35200 } pre { white-space: pre-wrap; background: #f4f4f4; padding: 0.6rem }
@media print { body { margin: 0; max-width: none } h2, h3 { break-after: avoid } tr, .write { break-inside: avoid } }
"""


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of a part."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Sentences:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Text as it is, line by line."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads; every row is as long as the heads."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ToWrite:
    """What only a person can say."""

    question: str


Block = Heading | Sentences | Listing | Table | ToWrite


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return a document as Markdown; what comes from data changes nothing but its own words."""
    return "\n\n".join("\n".join(_markdown(block)) for block in blocks) + "\n"


def to_html(blocks: Sequence[Block], title: str) -> str:
    """Return a document as one page without scripts, made to be printed."""
    body = "\n".join(map(_html, blocks))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_safe(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body>\n{body}\n</body></html>\n"
    )


def to_write(blocks: Sequence[Block]) -> list[str]:
    """Return what a person must still write."""
    return [block.question for block in blocks if isinstance(block, ToWrite)]


def _markdown(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * level} {_quiet(text)}"
        case Sentences(text):
            yield _quiet(text)
        case Listing(text):
            # A fence longer than any in the text.
            longest = max(map(len, re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            yield f"{fence}text\n{printable(text)}\n{fence}"
        case Table(heads, rows):
            yield f"| {' | '.join(map(_quiet, heads))} |"
            yield "|" + "---|" * len(heads)
            for row in rows:
                yield f"| {' | '.join(map(_quiet, row))} |"
        case ToWrite(question):
            yield f"> **To be written:** {_quiet(question)}"
            yield ">"
            yield "> ..."


def _quiet(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_safe(text)}</h{level}>"
        case Sentences(text):
            return f"<p>{_safe(text)}</p>"
        case Listing(text):
            return f"<pre>{_safe(text)}</pre>"
        case Table(heads, rows):
            head = "".join(f"<th>{_safe(cell)}</th>" for cell in heads)
            body = "".join(
                f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>\n" for row in rows
            )
            shown = f"<thead><tr>{head}</tr></thead>" if any(heads) else ""
            return f"<table>{shown}<tbody>\n{body}</tbody></table>"
        case ToWrite(question):
            return f'<div class="write"><b>To be written:</b> {_safe(question)}</div>'


def _safe(text: str) -> str:
    return html.escape(printable(text))
