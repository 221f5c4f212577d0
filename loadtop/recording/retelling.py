"""What a recording tells, added up."""

from loadtop.recording.digest import Digest
from loadtop.recording.reader import Session
from loadtop.reports.story import Story


def digest_of(session: Session) -> Digest:
    """What reading all of its frames gives; those that are added up in it already are not read again."""
    digest = session.digest() or Digest()
    for frame in session.frames_from(digest.frame + 1):
        digest.add(frame)
    digest.story.summary.url = session.meta.url or None
    digest.story.command_line = session.meta.command_line
    return digest


def story_of(session: Session) -> Story:
    """What a report tells of it."""
    return digest_of(session).story
