"""Messages of the kubelet's plugin protocols, generated from the `.proto` files beside this one.

They live in a descriptor pool of their own: the node agent generates the same symbols from
files of its own, and one pool takes a symbol only once, so a test process that holds both
halves of the wire could not load them.
"""

from typing import Final

from google.protobuf.descriptor_pool import DescriptorPool

POOL: Final = DescriptorPool()
