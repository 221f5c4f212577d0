"""How TLS is spoken, and what is told of it afterwards."""

import ssl
from pathlib import Path

from loadtop.generator.plan import Plan, PlanError

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
    """How TLS is spoken. Raises :class:`PlanError` when an option cannot be had from this machine's OpenSSL.

    Without SNI (ab's -I) the certificate's chain is verified, but not the name in it.
    """
    options = plan.tls
    context = ssl.create_default_context()
    context.check_hostname = plan.verify_tls and options.sni
    if not plan.verify_tls:
        context.verify_mode = ssl.CERT_NONE
    if options.protocol is not None and options.protocol.upper() != "ALL":
        version = _VERSIONS.get(options.protocol.upper())
        if version is None:
            raise PlanError(f"-f {options.protocol} is not possible: use {', '.join(_VERSIONS)} or ALL")
        if version is ssl.TLSVersion.TLSv1_3 and options.ciphers is not None:
            raise PlanError(
                f"-Z {options.ciphers} and -f {options.protocol}: Python cannot choose among the suites of TLS 1.3: "
                "leave -Z out or use -f TLS1.2"
            )
        _limit_version(context, version)
    if options.ciphers is not None:
        _choose_ciphers(context, options.ciphers)
    if options.certificate is not None:
        _load_certificate(context, options.certificate)
    return context


def _load_certificate(context: ssl.SSLContext, file: str) -> None:
    def password() -> str:
        raise PlanError(f"-E {file}: its key has a password: give the key without one (openssl pkey -in {file})")

    try:
        context.load_cert_chain(Path(file), password=password)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
        raise PlanError(f"-E {file} cannot be used ({reason}): give a PEM file with certificate and key") from None


def _limit_version(context: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    if version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        # OpenSSL 3 speaks these two at its security level 0 only.
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    # Older versions than 1.2 are deprecated and would warn; who asks for one here wants it.
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = version
        context.maximum_version = version


def _choose_ciphers(context: ssl.SSLContext, ciphers: str) -> None:
    if ciphers.startswith("TLS_"):
        raise PlanError(
            f"-Z {ciphers}: Python cannot choose among the suites of TLS 1.3: leave -Z out or use -f TLS1.2"
        )
    try:
        context.set_ciphers(ciphers)
    except ssl.SSLError:
        raise PlanError(f"-Z {ciphers}: OpenSSL knows no such cipher: see `openssl ciphers`") from None


def describe_tls(tls: "ssl.SSLObject | ssl.SSLSocket") -> str:
    """What was agreed on, as ab writes it: ``TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256`` (bits of the certificate's key,
    bits of the cipher)."""
    cipher = tls.cipher()
    if cipher is None:
        return ""
    name, _, bits = cipher
    certificate = tls.getpeercert(binary_form=True)
    key = None if certificate is None else key_bits(certificate)
    return f"{tls.version()},{name},{key or 0},{bits}"


def tls_seen(transport: object) -> dict[str, str]:
    """What :class:`loadtop.model.ServerSeen` wants to know of TLS; nothing where none is spoken."""
    look = getattr(transport, "get_extra_info", None)
    tls = None if look is None else look("ssl_object")
    if tls is None:
        return {}
    name: str = tls.server_hostname or ""
    # Addresses are never sent as names (RFC 6066 section 3).
    return {"tls": describe_tls(tls), "tls_name": "" if name.replace(".", "").isdigit() or ":" in name else name}


def key_bits(certificate: bytes) -> int | None:
    """The length of the public key in a DER certificate (RFC 5280): of RSA's modulus, or of the curve."""
    place = certificate.find(_RSA)
    if place >= 0:
        return _modulus_bits(certificate, place + len(_RSA))
    return next((bits for name, bits in _CURVES.items() if name in certificate), None)


def _modulus_bits(data: bytes, place: int) -> int | None:
    """After the algorithm come NULL, then a BIT STRING with a SEQUENCE whose first INTEGER is the modulus."""
    try:
        place += 2
        place = _enter(data, place, 0x03)[0] + 1
        place = _enter(data, place, 0x30)[0]
        start, length = _enter(data, place, 0x02)
    except (IndexError, ValueError):
        return None
    return int.from_bytes(data[start : start + length], "big").bit_length()


def _enter(data: bytes, place: int, tag: int) -> tuple[int, int]:
    """Where the content of the DER value at ``place`` begins, and how long it is."""
    if data[place] != tag:
        raise ValueError("not the value that was expected")
    length = data[place + 1]
    if length < 0x80:
        return place + 2, length
    more = length & 0x7F
    return place + 2 + more, int.from_bytes(data[place + 2 : place + 2 + more], "big")
