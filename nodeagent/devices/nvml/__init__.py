"""GPUs as NVIDIA's management library shows them, through `pynvml`.

Runs in the worker process alone (`nodeagent.devices.worker`): a driver that hangs, or one whose
library does not fit the kernel module any more, costs that process and nothing else. Only this
package imports `pynvml`.
"""
