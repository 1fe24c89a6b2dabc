"""What a recording is asked for: sampled events, JVM options, experiments."""
