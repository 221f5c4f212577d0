"""Another machine over OpenSSH's client."""
