"""Run the whole product on one machine: `make demo`.

Starts the same processes as production, with other addresses (docs/architecture.md):
a Redis-protocol server, the embedded cluster, web, worker, beat and one agent a node.
"""
