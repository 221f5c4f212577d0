"""TLS: the context for a plan's options, and a description of what was negotiated."""

import ssl
from pathlib import Path

from loadtop.generator.plan import Plan, PlanError
from loadtop.i18n.message import Message

_VERSIONS = {
    "TLS1": ssl.TLSVersion.TLSv1,
    "TLS1.0": ssl.TLSVersion.TLSv1,
    "TLS1.1": ssl.TLSVersion.TLSv1_1,
    "TLS1.2": ssl.TLSVersion.TLSv1_2,
    "TLS1.3": ssl.TLSVersion.TLSv1_3,
}
_RSA = bytes.fromhex("06092a864886f70d010101")
_CURVES = {
    bytes.fromhex("06082a8648ce3d030107"): 256,  # prime256v1
    bytes.fromhex("06052b81040022"): 384,  # secp384r1
    bytes.fromhex("06052b81040023"): 521,  # secp521r1
    bytes.fromhex("06032b6570"): 256,  # Ed25519
    bytes.fromhex("06032b6571"): 456,  # Ed448
}


def tls_context(plan: Plan) -> ssl.SSLContext:
    """Return the context for the plan's TLS options.

    Without SNI (ab's -I) the certificate's chain is verified, but not the name in it.

    :raises PlanError: if this machine's OpenSSL does not support an option
    """
    options = plan.tls
    context = ssl.create_default_context()
    context.check_hostname = plan.verify_tls and options.sni
    if not plan.verify_tls:
        context.verify_mode = ssl.CERT_NONE
    if options.protocol is not None and options.protocol.upper() != "ALL":
        version = _VERSIONS.get(options.protocol.upper())
        if version is None:
            raise PlanError(
                "-f {protocol} is not possible: use {versions} or ALL",
                protocol=options.protocol,
                versions=", ".join(_VERSIONS),
            )
        if version is ssl.TLSVersion.TLSv1_3 and options.ciphers is not None:
            raise _no_suites(f"-Z {options.ciphers} and -f {options.protocol}")
        _set_version(context, version)
    if options.ciphers is not None:
        _set_ciphers(context, options.ciphers)
    if options.certificate is not None:
        _load_certificate(context, options.certificate)
    return context


def _load_certificate(context: ssl.SSLContext, file: str) -> None:
    def password() -> str:
        raise PlanError(
            "-E {file}: its key has a password: give the key without one (openssl pkey -in {file})", file=file
        )

    try:
        context.load_cert_chain(Path(file), password=password)
    except (OSError, ssl.SSLError) as error:
        raise PlanError(
            "-E {file} cannot be used ({reason}): give a PEM file with certificate and key",
            file=file,
            reason=error.strerror or str(error),
        ) from None


def _set_version(context: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    if version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        # OpenSSL 3 supports these two only at its security level 0.
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    # Versions before 1.2 are deprecated and would warn, but the user has asked for them.
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = version
        context.maximum_version = version


def _set_ciphers(context: ssl.SSLContext, ciphers: str) -> None:
    if ciphers.startswith("TLS_"):
        raise _no_suites(f"-Z {ciphers}")
    try:
        context.set_ciphers(ciphers)
    except ssl.SSLError:
        raise PlanError("-Z {ciphers}: OpenSSL knows no such cipher: see `openssl ciphers`", ciphers=ciphers) from None


def _no_suites(options: str) -> PlanError:
    message = Message(
        "{options}: Python cannot choose among the suites of TLS 1.3: leave -Z out or use -f TLS1.2", options=options
    )
    return PlanError(message)


def _negotiated(tls: "ssl.SSLObject | ssl.SSLSocket") -> str:
    """What was negotiated, as ab writes it: ``TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256`` (bits of the certificate's
    key, bits of the cipher)."""
    cipher = tls.cipher()
    if cipher is None:
        return ""
    name, _, bits = cipher
    certificate = tls.getpeercert(binary_form=True)
    key = None if certificate is None else key_bits(certificate)
    return f"{tls.version()},{name},{key or 0},{bits}"


def tls_seen(transport: object) -> dict[str, str]:
    """Return the TLS fields of :class:`loadtop.model.ServerSeen`; none without TLS."""
    get_extra_info = getattr(transport, "get_extra_info", None)
    tls = None if get_extra_info is None else get_extra_info("ssl_object")
    if tls is None:
        return {}
    name: str = tls.server_hostname or ""
    # Addresses are never sent as names (RFC 6066 section 3).
    return {"tls": _negotiated(tls), "tls_name": "" if name.replace(".", "").isdigit() or ":" in name else name}


def key_bits(certificate: bytes) -> int | None:
    """Return the length of the public key in a DER certificate (RFC 5280): of RSA's modulus, or of the curve."""
    start = certificate.find(_RSA)
    if start >= 0:
        return _modulus_bits(certificate, start + len(_RSA))
    return next((bits for name, bits in _CURVES.items() if name in certificate), None)


def _modulus_bits(data: bytes, start: int) -> int | None:
    """After the algorithm come NULL, then a BIT STRING with a SEQUENCE whose first INTEGER is the modulus."""
    try:
        start = _content(data, start + 2, tag=0x03)[0] + 1
        start = _content(data, start, tag=0x30)[0]
        start, length = _content(data, start, tag=0x02)
    except (IndexError, ValueError):
        return None
    return int.from_bytes(data[start : start + length], "big").bit_length()


def _content(data: bytes, start: int, *, tag: int) -> tuple[int, int]:
    """Return where the content of the DER value at ``start`` begins, and its length."""
    if data[start] != tag:
        raise ValueError("unexpected DER tag")
    length = data[start + 1]
    if length < 0x80:
        return start + 2, length
    more = length & 0x7F
    return start + 2 + more, int.from_bytes(data[start + 2 : start + 2 + more], "big")
