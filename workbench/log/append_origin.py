"""An alias of `log.append.append_origin`, where `AppendOrigin` moved."""

from workbench.log.append.append_origin import AppendOrigin

__all__ = ["AppendOrigin"]
