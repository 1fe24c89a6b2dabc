"""Which method --suggest lists first: on stacks as real programs have them, the point that their authors would choose."""

from __future__ import annotations

from headway.analyses.causal.progress_points import Suggestion, ranked
from headway.record.causal.notes import Notes
from headway.record.causal.tables import _on_stacks


def method(where: str, per_s: float, on_stacks: float | None, outer: float | None, varies: float = 0.2) -> Suggestion:
    return Suggestion(
        where=where,
        hits=int(per_s * 20),
        hits_per_s=per_s,
        variation=varies,
        on_stacks=on_stacks,
        outer_frames=outer,
    )


def first(*found: Suggestion) -> str:
    return ranked(found)[0].where


def test_of_an_index_writer_it_is_adding_a_document_not_what_that_calls_once_in_turn() -> None:
    lucene = "org.apache.lucene.index."
    assert first(
        method(lucene + "DocumentsWriterPerThread.updateDocuments", 900, 0.86, 4.1),
        method(lucene + "DocumentsWriter.updateDocuments", 900, 0.86, 3.1),
        method(lucene + "IndexWriter.updateDocuments", 900, 0.87, 2.0),
        method(lucene + "IndexWriter.addDocument", 900, 0.87, 1.0, varies=0.3),
        method("app.Indexer.lambda$main$0", 0.2, 0.98, 0.0),
        method("app.Indexer.document", 900, 0.08, 1.0),
        method(lucene + "TermsHashPerField.add", 180_000, 0.5, 8.0),
        method("org.apache.lucene.util.Clock.tick", 10, 0.0, None, varies=0.0),
    ) == (lucene + "IndexWriter.addDocument")


def test_of_a_database_it_is_the_transaction_not_its_statements() -> None:
    assert first(
        method("org.h2.jdbc.JdbcPreparedStatement.executeQuery", 4000, 0.6, 2.0),
        method("org.h2.command.Command.executeUpdate", 3000, 0.3, 3.0),
        method("app.Bank.transfer", 700, 0.95, 1.0),
        method("app.Bank.client", 0.1, 0.97, 0.0),
        method("org.h2.mvstore.MVStore.commit", 90, 0.03, 4.0),
    ) == ("app.Bank.transfer")


def test_of_a_server_it_is_the_request_not_the_workers_loop() -> None:
    tomcat = "org.apache.catalina."
    assert first(
        method("org.apache.tomcat.util.net.SocketProcessorBase.run", 450, 0.93, 0.0),
        method(tomcat + "core.StandardWrapperValve.invoke", 450, 0.8, 9.0),
        method("app.Servlet.doGet", 450, 0.7, 12.0),
        method("app.Servlet.row", 45_000, 0.5, 13.0),
        method(tomcat + "core.ContainerBase.backgroundProcess", 0.1, 0.01, 1.0),
    ) == ("org.apache.tomcat.util.net.SocketProcessorBase.run")


def test_a_named_method_comes_before_the_lambda_that_calls_it_once() -> None:
    lambda_ = method("app.Index.lambda$index$0", 900, 0.95, 0.0)
    named = method("lib.Writer.addDocument", 899.9, 0.9, 1.0)
    assert first(lambda_, named) == "lib.Writer.addDocument"
    assert first(lambda_, method("lib.Writer.addTerm", 45_000, 0.9, 1.0)) == "app.Index.lambda$index$0"
    assert first(lambda_, method("app.Index.document", 900, 0.05, 1.0)) == "app.Index.lambda$index$0"


def test_without_stacks_steady_and_rare_methods_come_first() -> None:
    assert first(
        method("a.B.inner", 5000, None, None, varies=0.0),
        method("a.B.unit", 50, None, None, varies=0.0),
        method("a.B.bursts", 10, None, None, varies=0.9),
    ) == ("a.B.unit")


def test_the_stacks_of_overloads_are_those_of_their_name() -> None:
    notes = Notes()
    assert _on_stacks(notes, "a.B.unit") == (None, None)
    notes.take(b'{"t":"callers","ns":1,"samples":40,"methods":[["a.B$C","unit",10,25]]}')
    assert not notes.damaged
    assert _on_stacks(notes, "a.B$C.unit(int,java.lang.String)") == (0.25, 2.5)
    assert _on_stacks(notes, "a.B$C.other") == (0.0, None)
