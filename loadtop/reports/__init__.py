"""Reports that are read elsewhere: Markdown to paste, and a page with charts on one time axis."""
