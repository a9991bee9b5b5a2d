"""The NVML worker: a process of its own that speaks to the driver, and its proxy in the agent.

A call into the driver can hang for ever, in a state that no signal ends; a driver that is
replaced leaves a process with a library that does not fit any more. Both cost a worker, not the
agent (node-agent.md 6.7): the proxy answers its callers in time, and starts another worker.
"""
