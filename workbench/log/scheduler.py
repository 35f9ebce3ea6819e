"""An alias of `runtime.scheduler`, where `ManualScheduler` moved."""

from workbench.runtime.scheduler import ManualScheduler

__all__ = ["ManualScheduler"]
