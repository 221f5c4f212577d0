"""gunicorn: it has no status page, and so no option. ``kind.py`` declares the rest."""
