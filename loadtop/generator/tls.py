"""TLS: the context for a plan's options, and a description of what was negotiated."""

import asyncio
import re
import ssl
import warnings
from pathlib import Path

from loadtop.generator.plan import Plan, PlanError

_VERSIONS = {
    "TLS1": ssl.TLSVersion.TLSv1,
    "TLS1.0": ssl.TLSVersion.TLSv1,
    "TLS1.1": ssl.TLSVersion.TLSv1_1,
    "TLS1.2": ssl.TLSVersion.TLSv1_2,
    "TLS1.3": ssl.TLSVersion.TLSv1_3,
}
_LENGTH = rb"(?:[\x00-\x7f]|\x81.|\x82..)"
_RSA_KEY = re.compile(
    rb"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03%b\x00\x30%b\x02(%b)" % (_LENGTH, _LENGTH, _LENGTH),
    re.DOTALL,
)
"""DER (RFC 5280, RFC 8017): the name of RSA, NULL, then a BIT STRING with a SEQUENCE that begins with the modulus, an
INTEGER. A length of 128 bytes or more takes one or two more bytes, and the first byte says so."""
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
    protocol, ciphers = (options.protocol or "ALL").upper(), options.ciphers
    context = ssl.create_default_context()
    context.check_hostname = plan.verify_tls and options.sni
    if not plan.verify_tls:
        context.verify_mode = ssl.CERT_NONE
    if protocol != "ALL":
        if protocol not in _VERSIONS:
            raise PlanError(
                "-f must be {versions} or ALL, got '{protocol}'.",
                protocol=options.protocol,
                versions=", ".join(_VERSIONS),
            )
        _set_version(context, _VERSIONS[protocol])
    if ciphers is not None:
        if ciphers.startswith("TLS_") or protocol == "TLS1.3":
            raise PlanError(
                "{options}: Python cannot select TLS 1.3 cipher suites. Leave -Z out or use -f TLS1.2.",
                options=f"-Z {ciphers} and -f {options.protocol}" if protocol == "TLS1.3" else f"-Z {ciphers}",
            )
        try:
            context.set_ciphers(ciphers)
        except ssl.SSLError:
            raise PlanError("OpenSSL has no cipher '{ciphers}' (-Z). See `openssl ciphers`.", ciphers=ciphers) from None
    if options.certificate is not None:
        _load_certificate(context, options.certificate)
    return context


def _load_certificate(context: ssl.SSLContext, file: str) -> None:
    def password() -> str:
        raise PlanError(
            "The key in -E {file} has a password. Write the key without it to a new file (openssl pkey -in {file}), "
            "and append the certificate.",
            file=file,
        )

    try:
        context.load_cert_chain(Path(file), password=password)
    except (OSError, ssl.SSLError) as error:
        raise PlanError(
            "Cannot use -E {file} ({reason}). It must be a PEM file with certificate and key.",
            file=file,
            reason=error.strerror or str(error),
        ) from None


def _set_version(context: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    if version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        # OpenSSL 3 supports these two only at its security level 0.
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    # Versions before 1.2 are deprecated and would warn, but the user has asked for them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = version
        context.maximum_version = version


def tls_seen(transport: asyncio.BaseTransport | None) -> dict[str, str]:
    """Return the TLS fields of :class:`loadtop.model.ServerSeen`; none without TLS. As in ab:
    ``TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256`` (bits of the certificate's key, bits of the cipher)."""
    tls: ssl.SSLObject | None = None if transport is None else transport.get_extra_info("ssl_object")
    if tls is None:
        return {}
    name = tls.server_hostname or ""
    cipher, certificate = tls.cipher(), tls.getpeercert(binary_form=True)
    key = None if certificate is None else key_bits(certificate)
    return {
        "tls": "" if cipher is None else f"{tls.version()},{cipher[0]},{key or 0},{cipher[2]}",
        # Addresses are never sent as names (RFC 6066 section 3).
        "tls_name": "" if name.replace(".", "").isdigit() or ":" in name else name,
    }


def key_bits(certificate: bytes) -> int | None:
    """Return the length of the public key in a DER certificate (RFC 5280): of RSA's modulus, or of the curve."""
    if rsa := _RSA_KEY.search(certificate):
        length = rsa[1]
        size = length[0] if len(length) == 1 else int.from_bytes(length[1:], "big")
        return int.from_bytes(certificate[rsa.end() : rsa.end() + size], "big").bit_length()
    return next((bits for name, bits in _CURVES.items() if name in certificate), None)
