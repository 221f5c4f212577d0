"""What is measured: frozen types of raw counters, as read, before any rate is computed.

Every number is a counter or a gauge exactly as a machine gave it; ``None`` means "not measured" and is never 0.
Counters only become rates in :mod:`loadtop.rates.compute`. Units are in the names or in the docstring of the type.
"""

from loadtop.model.frame import MAX_HOSTS as MAX_HOSTS
from loadtop.model.frame import Frame as Frame
from loadtop.model.frame import HostState as HostState
from loadtop.model.load import MISSING as MISSING
from loadtop.model.load import Distribution as Distribution
from loadtop.model.load import EngineWorker as EngineWorker
from loadtop.model.load import Failures as Failures
from loadtop.model.load import GeneratorSample as GeneratorSample
from loadtop.model.load import Latencies as Latencies
from loadtop.model.load import LoadLevel as LoadLevel
from loadtop.model.load import LoadSample as LoadSample
from loadtop.model.load import LoadState as LoadState
from loadtop.model.load import RequestRecord as RequestRecord
from loadtop.model.load import Requests as Requests
from loadtop.model.load import ServerSeen as ServerSeen
from loadtop.model.load import StatedTimes as StatedTimes
from loadtop.model.machine import LOADTOP as LOADTOP
from loadtop.model.machine import OTHER as OTHER
from loadtop.model.machine import SERVICE as SERVICE
from loadtop.model.machine import USER_HZ as USER_HZ
from loadtop.model.machine import Cause as Cause
from loadtop.model.machine import CgroupLimits as CgroupLimits
from loadtop.model.machine import Core as Core
from loadtop.model.machine import CoreSpeed as CoreSpeed
from loadtop.model.machine import Cpu as Cpu
from loadtop.model.machine import CpuTimes as CpuTimes
from loadtop.model.machine import Disk as Disk
from loadtop.model.machine import HostFacts as HostFacts
from loadtop.model.machine import HostSample as HostSample
from loadtop.model.machine import Listener as Listener
from loadtop.model.machine import Memory as Memory
from loadtop.model.machine import Network as Network
from loadtop.model.machine import Outcome as Outcome
from loadtop.model.machine import Paging as Paging
from loadtop.model.machine import Pressure as Pressure
from loadtop.model.machine import Process as Process
from loadtop.model.machine import Scheduler as Scheduler
from loadtop.model.machine import State as State
from loadtop.model.machine import Swap as Swap
from loadtop.model.machine import Tcp as Tcp
from loadtop.model.profile import PROFILE_S as PROFILE_S
from loadtop.model.profile import Profile as Profile
from loadtop.model.server import SERVING as SERVING
from loadtop.model.server import Role as Role
from loadtop.model.server import ServerKind as ServerKind
from loadtop.model.server import ServerReading as ServerReading
from loadtop.model.waits import FileLock as FileLock
from loadtop.model.waits import Peer as Peer
from loadtop.model.waits import Peers as Peers
