"""The text of a pin file that names no encoding of its own."""

from __future__ import annotations

import codecs

BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


def decoded(data: bytes) -> str:
    """The text by its byte order mark, else as UTF-8. Raises UnicodeDecodeError."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return data.decode(encoding)
    return data.decode("utf-8")
