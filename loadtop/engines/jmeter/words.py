"""What JMeter says of itself: that the load has begun, and why there is none."""

import re
from collections.abc import Sequence

from loadtop.engines.member import Member

_BEGUN = ("Starting standalone test @", "Starting the test @", "Remote engines have been started:")
_REFUSED = "The following remote engines have not started"
_NOISE = (
    "loadtop:", "Picked up ", "WARN ", "WARNING", "INFO", "Creating summariser", "Created the tree", "Tidying up",
    "Waiting for possible", "at ", "java.lang.Throwable: Could not access", "An error occurred", "Detail:", "----",
    "Error in NonGUIDriver", "... end", "summary", *_BEGUN,
)  # fmt: skip
_EAR = re.compile(r"Waiting for possible .* message on port (\d+)")
_NO_ENGINE = "remote engines could not be configured"
_DAMAGED = "ForbiddenClassException"


def refused(words: Sequence[str]) -> bool:
    """Whether a jmeter-server does not make the load."""
    return any(word.startswith(_REFUSED) for word in words)


def has_ended(member: Member) -> bool:
    """Whether JMeter has ended, though what it leaves elsewhere may still have to."""
    return member.ended or any(word.startswith("loadtop: ended") for word in member.words)


def begun(words: Sequence[str]) -> bool:
    """Whether the load has begun."""
    return any(word.startswith(_BEGUN) for word in words)


def ear(words: Sequence[str]) -> int | None:
    """The UDP port here on which it can be told to stop, once it has said so."""
    found = next((found for word in words if (found := _EAR.match(word))), None)
    return None if found is None else int(found[1])


def over(words: Sequence[str]) -> bool:
    """Whether the load has come to its own end."""
    return any(word.startswith("Tidying up") for word in words)


def is_lost(member: Member) -> bool:
    """Whether it has ended without saying that its run was over."""
    return has_ended(member) and not over(member.words)


def problem(member: Member) -> str:
    """Why JMeter has ended, in its own words and one line."""
    where, words = member.where, member.words
    if member.problem:
        return f"jmeter{where} cannot be run: {member.problem}"
    if any("loadtop: no jmeter" in word for word in words):
        return f"jmeter is not installed{where}: unpack Apache JMeter there, so that `jmeter` is on PATH"
    if any("loadtop: no java" in word for word in words):
        return f"jmeter{where} needs Java: install a Java runtime there, for example default-jre-headless"
    if refused(words):
        said = next((word for word in words if "busy" in word), "")
        place = next(word for word in words if word.startswith(_REFUSED)).partition(":")[2]
        return f"jmeter-server {place.strip('[] ')} does not make the load" + (f": {said}" if said else "")
    said = _reason(words)
    if _DAMAGED in said:
        said += " (Debian's JMeter 2.13 reads plans only with libbsh-java: install that there)"
    if _NO_ENGINE in said:
        said += (
            ". JMeter looks for its keys in rmi_keystore.jks where loadtop is begun, or where "
            "server.rmi.ssl.keystore.file in its user.properties says; servers without keys need "
            "server.rmi.ssl.disable=true here as there"
        )
    return f"jmeter{where} ended" + (f": {said}" if said else "")


def _reason(words: Sequence[str]) -> str:
    """The line that tells most: the cause, an error of the driver, or the last one that is no routine."""
    for place, word in enumerate(words[:-1]):
        if word == "Cause:":
            return words[place + 1]
    for start in ("Error in NonGUIDriver ", "An error occurred: "):
        for word in words:
            text = word.removeprefix(start).strip()
            if word.startswith(start) and text and not text.startswith("Error in"):
                return text
    return next((word for word in reversed(words) if not word.startswith(_NOISE)), "")
