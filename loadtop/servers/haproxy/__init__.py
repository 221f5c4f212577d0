"""HAProxy: frontends, backends and servers."""
