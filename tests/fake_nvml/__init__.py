"""A libnvidia-ml.so.1 whose GPUs a test describes, and which keeps to the rules of MIG."""
