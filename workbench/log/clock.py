"""An alias of `runtime.clock`, where `ManualClock` moved."""

from workbench.runtime.clock import ManualClock

__all__ = ["ManualClock"]
