"""The command line: from words to a checked description of what to do."""
