"""What is measured: frozen types of raw counters, as read, before any rate is computed.

Every number is a counter or a gauge exactly as a machine gave it; ``None`` means "not measured" and is never 0.
Counters only become rates in :mod:`loadtop.rates.compute`. Units are in the names or in the docstring of the type.
"""

# ruff: noqa: F403 - everything that these modules define can be imported from here

from loadtop.model.frame import *
from loadtop.model.load import *
from loadtop.model.machine import *
from loadtop.model.profile import *
from loadtop.model.server import *
from loadtop.model.waits import *
