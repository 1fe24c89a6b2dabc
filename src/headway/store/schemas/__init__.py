"""The schemas of the tables, a module per subject; `headway.store.tables` has all of them by name."""
