"""Messages of the kubelet plugin API, generated from the `.proto` files beside this one.

They live in a descriptor pool of their own: other libraries in the same process (a second
plugin, a simulated kubelet in a test) may define the same symbols from files of other names,
which one pool refuses.
"""

from typing import Final

from google.protobuf.descriptor_pool import DescriptorPool

POOL: Final = DescriptorPool()
