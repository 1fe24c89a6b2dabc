"""JFR files: of the JDK (17 to 25) and of async-profiler. `reader` gives tables of events, `samples` stack samples."""
