"""Ways in which a file comes to harm."""

from collections.abc import Callable

import numpy as np

Damage = Callable[[bytes, np.random.Generator], bytes]


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data))]


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        damaged[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    start = int(rng.integers(len(data)))
    noise = bytes(20) if rng.random() < 0.5 else rng.bytes(20)
    return (data[:start] + noise + data[start + 20 :])[: len(data)]


def swap_lines(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.splitlines(keepends=True)
    a, b = rng.choice(len(lines), 2, replace=False)
    lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


def repeat_line(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(int(rng.integers(len(lines) + 1)), lines[rng.integers(len(lines))])
    return b"".join(lines)


def drop_line(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[rng.integers(len(lines))]
    return b"".join(lines)


def reword(data: bytes, rng: np.random.Generator) -> bytes:
    """A digit is another digit: what a person with an editor does."""
    places = [at for at, byte in enumerate(data) if 48 <= byte < 57]
    damaged = bytearray(data)
    damaged[places[rng.integers(len(places))]] += 1
    return bytes(damaged)


DAMAGES: list[Damage] = [
    truncate,
    flip_bits,
    overwrite,
    swap_lines,
    repeat_line,
    drop_line,
    reword,
]
