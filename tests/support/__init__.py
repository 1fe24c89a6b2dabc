"""Code that tests share: builders of recordings, independent oracles, and drivers of programs."""
