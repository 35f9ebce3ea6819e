"""The reader of Avro's binary encoding, compiled from `kernels.plain.avro`."""

from workbench.kernels._jit import kernel
from workbench.kernels.plain import avro

decode_avro = kernel(avro.decode_avro)
gather_bytes = kernel(avro.gather_bytes)
