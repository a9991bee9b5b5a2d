"""The console's processes on one machine: for any cluster (`make run`), or in the demo."""
