"""Locust as an engine. It runs as processes of its own and is never imported."""
