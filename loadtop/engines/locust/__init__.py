"""Locust as an engine: master and workers as processes here and, by SSH, elsewhere. It is never imported here."""
