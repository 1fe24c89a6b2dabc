"""What Python puts into a page, as types: one module per topic, of which scripts/make_shared.py makes web/src/payload/TOPIC.ts.

The types are the contract between the modules beside this package, which build payloads as plain JSON values, and the page.
tests/unit/report/test_payload_types.py compares what is built with them, key by key. Times are ns from the start of the recording
unless a name says otherwise. A field's text stands behind it; a module's VOCABULARIES become constants: name in TypeScript ->
(its type, the words).
"""
