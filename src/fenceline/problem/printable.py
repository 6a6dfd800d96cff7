"""Texts from outside, made harmless to show: to an encoding, and to a terminal."""


def printable(text: str) -> str:
    """Return a text that every encoding can hold and that does nothing to a terminal.

    Lone surrogates and control characters other than the end of a line and the tabulator are
    written as escapes.
    """
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(letter: str) -> str:
    control = letter < " " or "\x7f" <= letter < "\xa0"
    return f"\\x{ord(letter):02x}" if control and letter not in "\n\t" else letter
