"""Diagnoses as rows, and back: what a finding says is written once, its values in every frame."""

import json
from typing import Any

from loadtop.diagnosis.finding import Diagnosis, Evidence, Finding
from loadtop.recording.definitions import DamagedError, Definitions, Numbering, Row, loaded_text, stored_text
from loadtop.recording.series import read_real, real


def encode_diagnosis(diagnosis: Diagnosis, numbering: Numbering) -> tuple[str | None, list[Row]]:
    """Which rows are the findings (a JSON array, or None for none), and the rows by position; the verdict is first.

    A row is: position, claim, since_s, held_s, the evidence's values (JSON), positions of the symptoms (JSON or None).
    """
    positions: dict[Finding, int] = {}
    rows: list[Row] = []

    def add(finding: Finding) -> int:
        known = positions.get(finding)
        if known is not None:
            return known
        position = positions[finding] = len(positions)
        symptoms = [add(symptom) for symptom in finding.symptoms]
        values = json.dumps([evidence.value for evidence in finding.evidence], separators=(",", ":"))
        rows.append(
            (
                position,
                _claim(finding, numbering),
                real(finding.since_s),
                real(finding.held_s),
                values,
                json.dumps(symptoms) if symptoms else None,
            )
        )
        return position

    add(diagnosis.verdict)
    findings = [add(finding) for finding in diagnosis.findings]
    return json.dumps(findings) if findings else None, sorted(rows, key=lambda row: row[0])


def decode_diagnosis(findings: str | None, rows: list[Row], definitions: Definitions) -> Diagnosis:
    """The diagnosis that :func:`encode_diagnosis` was given. Raises DamagedError."""
    by_position = {row[0]: row[1:] for row in rows}

    def find(position: int) -> Finding:
        claim, since_s, held_s, values, symptoms = by_position[position]
        bottleneck, host, confidence, advice, criteria = definitions.values("claim", claim)
        evidence = zip(json.loads(criteria), json.loads(values), strict=True)
        return Finding(
            bottleneck,
            None if host is None else loaded_text(host),
            read_real(since_s),
            read_real(held_s),
            read_real(confidence),
            tuple(_evidence(definitions.values("criterion", number), value) for number, value in evidence),
            loaded_text(advice),
            tuple(find(symptom) for symptom in json.loads(symptoms)) if symptoms else (),
        )

    try:
        return Diagnosis(find(0), tuple(find(position) for position in json.loads(findings)) if findings else ())
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise DamagedError("a diagnosis cannot be read") from error


def _claim(finding: Finding, numbering: Numbering) -> int:
    criteria = [_criterion(evidence, numbering) for evidence in finding.evidence]
    return numbering.number(
        "claim",
        finding.bottleneck,
        None if finding.host is None else stored_text(finding.host),
        real(finding.confidence),
        stored_text(finding.advice),
        json.dumps(criteria),
    )


def _criterion(evidence: Evidence, numbering: Numbering) -> int:
    return numbering.number(
        "criterion",
        stored_text(evidence.metric),
        stored_text(evidence.host),
        real(evidence.threshold),
        stored_text(evidence.unit),
        stored_text(evidence.source),
        int(evidence.below),
    )


def _evidence(criterion: Row, value: Any) -> Evidence:
    metric, host, threshold, unit, source, below = criterion
    return Evidence(
        loaded_text(metric),
        loaded_text(host),
        value,
        read_real(threshold),
        loaded_text(unit),
        loaded_text(source),
        bool(below),
    )
