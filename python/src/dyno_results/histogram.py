"""Stored histograms: HdrHistogram's V2 encoding with DEFLATE, in base64, from 1 ns to 1 h with three digits."""

import base64
import binascii
import struct
import zlib

_COMPRESSED, _V2 = 0x1C849314, 0x1C849313
# Cookie, length, offset, digits, lowest and highest value, ratio.
_HEADER = struct.Struct(">iiiiqqd")
_HALF = 1024
_INDICES = 33 * _HALF
_LARGEST = _HEADER.size + 9 * _INDICES


def cells(text: str) -> list[tuple[int, int]]:
    """The middle of each bucket that holds samples, ascending, and how many it holds.

    Raises `ValueError` where the text is no such histogram.
    """
    if not text:
        return []
    try:
        packed = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">ii", packed)
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed[8 : 8 + length], _LARGEST)
        inner, size, offset, digits, _lowest, _highest, _ratio = _HEADER.unpack_from(data)
    except (binascii.Error, struct.error, zlib.error) as e:
        raise ValueError(f"the histogram is damaged: {e}") from e
    if (cookie, inner, offset, digits) != (_COMPRESSED, _V2, 0, 3) or unpacker.unconsumed_tail:
        raise ValueError("the histogram is not one of Dyno: it has another encoding or other bounds")
    if len(data) < _HEADER.size + size:
        raise ValueError("the histogram is damaged: it ends early")
    return _counts(data[_HEADER.size : _HEADER.size + size])


def _counts(data: bytes) -> list[tuple[int, int]]:
    """Counts by index in zigzag LEB128; a negative number stands for so many zeros."""
    found: list[tuple[int, int]] = []
    index = at = 0
    while at < len(data):
        number = shift = 0
        while True:
            if at == len(data):
                raise ValueError("the histogram is damaged: it ends within a number")
            byte = data[at]
            at += 1
            # The ninth byte has all of its bits.
            number |= (byte if shift == 56 else byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift == 63:
                break
        value = (number >> 1) ^ -(number & 1)
        if value > 0:
            found.append((_middle(index), value))
        index += -value if value < 0 else 1
        if index > _INDICES:
            raise ValueError("the histogram is damaged: it has more buckets than there are up to one hour")
    return found


def _middle(index: int) -> int:
    row = index // _HALF
    if row == 0:
        return index
    lowest = (index % _HALF + _HALF) << (row - 1)
    return lowest + ((1 << (row - 1)) >> 1)


def bucket(value: int) -> int:
    """The lowest value of the bucket that holds `value`."""
    magnitude = max(value.bit_length() - 11, 0)
    return value >> magnitude << magnitude
