"""Texts of ours that run elsewhere: in a shell, or within another engine."""

from pathlib import Path


def own_part(engine: str, name: str) -> str:
    """``tool`` of an engine is for a shell; Locust's ``hooks`` run within it, JMeter's ``beside`` in its BeanShell."""
    return (Path(__file__).parent / engine / f"{name}.txt").read_text(encoding="utf-8")
