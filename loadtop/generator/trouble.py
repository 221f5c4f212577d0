"""What went wrong, in one line that says what to do about it."""

import errno
import socket
import ssl

from loadtop.generator.target import Origin

_NO_ISSUER = (18, 19, 20, 21)
"""OpenSSL's X509_V_ERR codes where it knows no authority that vouches for the certificate."""


class TunnelRefusedError(ConnectionError):
    """The proxy answered CONNECT with something else than 200; the text says with what."""


def connect_trouble(error: BaseException, origin: Origin, via: str = "", bind: str | None = None) -> str:
    """Why no connection to ``origin`` (through the proxy ``via``) came about, and what to try."""
    place = via or origin.address
    match error:
        case ssl.SSLCertVerificationError():
            own = "SSL_CERT_FILE=FILE names an authority to trust, or " if error.verify_code in _NO_ISSUER else ""
            return (
                f"the TLS certificate of {origin.address} cannot be trusted ({error.verify_message}): "
                f"{own}use --insecure to load it all the same"
            )
        case ssl.SSLError():
            reason = (error.reason or str(error)).replace("_", " ").lower()
            return f"no TLS with {origin.address} ({reason}): does this port speak https? -f and -Z choose the protocol"
        case socket.gaierror() if bind is not None:
            kind = "IPv6" if ":" in bind else "IPv4"
            return f"no {kind} address of {via or origin.host} is known, and -B {bind} needs one: check the name and -B"
        case socket.gaierror():
            return f"the host {via or origin.host} is not known ({error.strerror}): check its name"
        case TimeoutError():
            return f"{place} does not answer (timed out): is the host up, and does a firewall let the port through?"
        case TunnelRefusedError():
            return f"no tunnel to {origin.address}: {error}: does it allow CONNECT, or want a user and password (-P)?"
        case ConnectionRefusedError():
            return f"connection refused by {place}: is the server running on {place}?"
        case ConnectionResetError() | ConnectionAbortedError() | BrokenPipeError():
            return f"{place} closes connections before anything is sent: does it speak {origin.scheme}?"
        case OSError() if error.errno == errno.EADDRNOTAVAIL and bind is not None:
            return f"{bind} is no address of this machine, or has no port left: see `ip address` for what -B can be"
        case OSError() if error.errno == errno.EADDRNOTAVAIL:
            return f"no local port is left for {place}: use -k, or wait a minute, or widen net.ipv4.ip_local_port_range"
        case OSError() if error.errno in (errno.EMFILE, errno.ENFILE):
            return "no file descriptor is left for a connection: raise the limit (ulimit -n) or lower -c"
        case _:
            return f"no connection to {place} ({getattr(error, 'strerror', None) or error}): check the address"


def answer_trouble(status: int) -> str:
    """What to make of a server that answers ``status`` to every request."""
    hints = {
        400: "does it speak https on this port, or is a header wrong?",
        401: "does it want a user and password (-A)?",
        403: "is the path allowed, or does it want a user and password (-A)?",
        404: "is the path right?",
        405: "is the method right (-m)?",
        407: "does the proxy want a user and password (-P)?",
        408: "is it overloaded?",
        429: "does it limit the rate of this client?",
        500: "its error log will say why",
        502: "is the server behind it running?",
        503: "is it overloaded, or is the server behind it running?",
        504: "is the server behind it answering?",
    }
    hint = hints.get(status)
    if hint is None and 300 <= status < 400:
        hint = "redirects are not followed: use the URL that it redirects to"
    return f"the server answers {status} to every request" + (f": {hint}" if hint else "")
