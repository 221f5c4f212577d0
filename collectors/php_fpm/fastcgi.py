"""One request over FastCGI and its answer, as bytes; no input or output here.

Source: FastCGI Specification 1.0 (Open Market, 1996), sections 3.3 to 5: records of eight bytes of header, content and
padding. The connection is not kept, so that the server ends it after the answer.
"""

import struct

from collectors.errors import ParseError

_HEADER = struct.Struct(">BBHHBx")
_BEGIN = struct.Struct(">HB5x")
_VERSION, _ID, _RESPONDER = 1, 1, 1
_BEGIN_REQUEST, _END_REQUEST, _PARAMS, _STDIN, _STDOUT = 1, 3, 4, 5, 6


def request(path: str, query: str = "") -> bytes:
    """A GET of a path, as a web server on the same machine would pass it on."""
    uri = f"{path}?{query}" if query else path
    parameters = {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": path,
        "SCRIPT_FILENAME": path,
        "REQUEST_URI": uri,
        "QUERY_STRING": query,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_SOFTWARE": "loadtop",
        "REMOTE_ADDR": "127.0.0.1",
    }
    packed = b"".join(_pair(name, value) for name, value in parameters.items())
    return b"".join(
        (
            _record(_BEGIN_REQUEST, _BEGIN.pack(_RESPONDER, 0)),
            _record(_PARAMS, packed),
            _record(_PARAMS, b""),
            _record(_STDIN, b""),
        )
    )


def parse(answer: bytes) -> tuple[int, dict[str, str], str]:
    """Status (200 where none is said), headers with names in lower case, and body of an answer."""
    output = bytearray()
    position, ended = 0, False
    while position + _HEADER.size <= len(answer):
        version, kind, _, length, padding = _HEADER.unpack_from(answer, position)
        if version != _VERSION:
            raise ParseError("this is no answer over FastCGI")
        begin = position + _HEADER.size
        if kind == _STDOUT:
            output += answer[begin : begin + length]
        ended = ended or kind == _END_REQUEST
        position = begin + length + padding
    if not ended:
        raise ParseError("an answer over FastCGI that is cut off")
    text = output.decode("utf-8", "replace").replace("\r\n", "\n")
    head, _, body = text.partition("\n\n")
    pairs = (line.partition(":") for line in head.split("\n"))
    headers = {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}
    words = headers.get("status", "200").split()
    status = int(words[0]) if words and words[0].isascii() and words[0].isdecimal() and len(words[0]) == 3 else 0
    return status, headers, body


def _record(kind: int, content: bytes) -> bytes:
    return _HEADER.pack(_VERSION, kind, _ID, len(content), 0) + content


def _pair(name: str, value: str) -> bytes:
    key, content = name.encode(), value.encode()
    return _length(key) + _length(content) + key + content


def _length(part: bytes) -> bytes:
    return bytes([len(part)]) if len(part) < 128 else struct.pack(">I", len(part) | 0x80000000)
