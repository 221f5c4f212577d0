"""What can go wrong while a machine is read, each with the reason in one line."""


class ParseError(ValueError):
    """A text is not what its source prints: cut off, garbled, or of another kind. The only error of a parser."""


class AbsentError(Exception):
    """There is nothing to read: no such file, not permitted, switched off, or nothing of the kind on this machine."""


class TransportError(Exception):
    """The machine itself cannot be read: no connection, cut off in the middle, no answer."""


class FetchError(Exception):
    """A page did not come: refused, no such name, TLS, cut off, or nothing within the time given."""
