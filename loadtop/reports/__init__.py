"""Reports and exports: text, ab's format, Markdown, HTML, JUnit, OpenMetrics, tables, comparisons and the doctor."""
