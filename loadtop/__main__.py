"""``python -m loadtop``."""

import sys

from loadtop.cli import main

sys.exit(main())
