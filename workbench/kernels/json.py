"""The finder of fields in JSON, compiled from `kernels.plain.json`."""

from workbench.kernels._jit import kernel
from workbench.kernels.plain import json

pick_json_fields = kernel(json.pick_json_fields)
