"""Apache httpd: mod_status pages and configured limits."""
