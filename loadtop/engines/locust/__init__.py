"""Locust as an engine. It runs as separate processes and is never imported."""
