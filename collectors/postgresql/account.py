"""The account at a PostgreSQL server, from where libpq has it: environment, service file, password file.

Source: the PostgreSQL manual, libpq: "Environment Variables", "The Connection Service File", "The Password File".
"""

import configparser
import os
import re
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from collectors.transport import files
from collectors.transport.exchange import host_and_port

_MOST_LINES = 1000
_FIELD = re.compile(r"((?:[^:\\]|\\.){0,1000})(?::|$)", re.DOTALL)


class Account(Struct, frozen=True):
    user: str
    password: str = ""
    database: str = "postgres"


def account_for(address: str, user: str, environment: Mapping[str, str] = os.environ) -> Account:
    """The account for the server at this address; ``user`` is its name where nothing else is said."""
    service = _service(environment)
    user = environment.get("PGUSER") or service.get("user") or user
    database = environment.get("PGDATABASE") or service.get("dbname") or "postgres"
    password = environment.get("PGPASSWORD") or service.get("password") or ""
    if not password:
        text = files.of_user(environment.get("PGPASSFILE") or "~/.pgpass")
        password = password_in(text, address, database, user)
    return Account(user, password, database)


def password_in(text: str, address: str, database: str, user: str) -> str:
    """The password of the first line that fits; empty where none does. The host of a socket is ``localhost``, or its
    directory."""
    place = host_and_port(address)
    directory, _, name = address.rpartition("/")
    hosts = {directory, "localhost"} if place is None else {place[0]}
    port = name.rpartition(".")[2] if place is None else str(place[1])
    for line in text.splitlines()[:_MOST_LINES]:
        if line.startswith("#"):
            continue
        fields = [re.sub(r"\\(.)", r"\1", field) for field in _FIELD.findall(line)][:5]
        wanted = (hosts, {port}, {database}, {user})
        if len(fields) == 5 and all(field == "*" or field in each for field, each in zip(fields, wanted, strict=False)):
            return fields[4]
    return ""


def _service(environment: Mapping[str, str]) -> Mapping[str, str]:
    """What the service file says of the service that ``PGSERVICE`` names."""
    name = environment.get("PGSERVICE")
    if not name:
        return {}
    return service_in(files.of_user(environment.get("PGSERVICEFILE") or "~/.pg_service.conf"), name)


def service_in(text: str, name: str) -> Mapping[str, str]:
    """The settings of a service. What is no such file has none."""
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#",))
    with suppress(configparser.Error):
        parser.read_string(text)
    return dict(parser[name]) if parser.has_section(name) else {}
