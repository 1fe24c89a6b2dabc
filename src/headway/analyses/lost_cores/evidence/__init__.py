"""The evidence for a loss: figures of the kernel, the JVM and stacks, and the sentences that state them."""
