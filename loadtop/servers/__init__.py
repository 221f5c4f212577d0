"""The kinds of servers that loadtop knows: one package each, registered in :mod:`loadtop.servers.registry`."""
