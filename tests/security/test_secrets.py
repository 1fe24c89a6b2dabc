"""Secrets on command lines, in properties and in the environment are masked; what only sounds like one stays."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headway.errors import HeadwayError
from headway.model.secrets import is_secret_name, masked_text, masked_value, masked_words
from headway.record.finalise.masking import with_masked_facts
from headway.record.imports.bring_in import import_file
from headway.record.imports.importer import ImportOptions
from headway.record.session.manifest_draft import first_draft
from headway.record.session.plan import Plan
from headway.report.export import export_perfetto
from headway.report.html import render_html
from headway.store import directory, open_recording, sweep_commands
from headway.store.sweep import Sweep, SweepRun, read_sweep, with_commands, write_sweep
from support.builders import recording_builder
from support.drivers.recording_cli import headway

S = "s3cr3tv4lue"
"""The secret of every case below; a masked text does not have it."""

MASKED = [
    # Spring Boot
    (f"java -Dspring.datasource.password={S} -jar app.jar", "java -Dspring.datasource.password=*** -jar app.jar"),
    (f"java -jar app.jar --spring.datasource.password={S} --server.port=8080",
     "java -jar app.jar --spring.datasource.password=*** --server.port=8080"),
    (f"java -jar app.jar --spring.security.user.password={S}", "java -jar app.jar --spring.security.user.password=***"),
    (f"java -jar app.jar --spring.datasource.hikari.password='{S} {S}'",
     "java -jar app.jar --spring.datasource.hikari.password=***"),
    (f"java -jar app.jar --spring.security.oauth2.client.registration.github.client-secret={S}",
     "java -jar app.jar --spring.security.oauth2.client.registration.github.client-secret=***"),
    (f"java -jar app.jar --jwt.secret={S}", "java -jar app.jar --jwt.secret=***"),
    (f"java -jar app.jar --spring.rabbitmq.addresses=amqp://app:{S}@mq:5672/v",
     "java -jar app.jar --spring.rabbitmq.addresses=amqp://app:***@mq:5672/v"),
    (f"java -jar app.jar --spring.datasource.url=jdbc:postgresql://db:5432/app?user=app&password={S}&ssl=true",
     "java -jar app.jar '--spring.datasource.url=jdbc:postgresql://db:5432/app?user=app&password=***&ssl=true'"),
    (f"java -Djasypt.encryptor.password={S} -jar app.jar", "java -Djasypt.encryptor.password=*** -jar app.jar"),
    # Kafka
    ("java kafka.Kafka server.properties --override 'sasl.jaas.config=org.apache.kafka.common.security.plain."
     f"PlainLoginModule required username=\"admin\" password=\"{S}\";'",
     "java kafka.Kafka server.properties --override 'sasl.jaas.config=org.apache.kafka.common.security.plain."
     "PlainLoginModule required username=\"admin\" password=\"***\";'"),
    (f"java kafka.Kafka server.properties --override ssl.keystore.password={S} --override ssl.key.password={S}",
     "java kafka.Kafka server.properties --override ssl.keystore.password=*** --override ssl.key.password=***"),
    # Spark
    (f"java org.apache.spark.deploy.SparkSubmit --conf spark.authenticate.secret={S} --conf spark.executor.cores=4 app.jar",
     "java org.apache.spark.deploy.SparkSubmit --conf spark.authenticate.secret=*** --conf spark.executor.cores=4 app.jar"),
    (f"java SparkSubmit --conf spark.hadoop.fs.s3a.secret.key={S} --conf spark.hadoop.fs.s3a.access.key={S}",
     "java SparkSubmit --conf spark.hadoop.fs.s3a.secret.key=*** --conf spark.hadoop.fs.s3a.access.key=***"),
    (f"java SparkSubmit --conf spark.hadoop.fs.azure.account.key.acme.blob.core.windows.net={S}",
     "java SparkSubmit --conf spark.hadoop.fs.azure.account.key.acme.blob.core.windows.net=***"),
    (f"java SparkSubmit --conf spark.ssl.keyPassword={S}", "java SparkSubmit --conf spark.ssl.keyPassword=***"),
    # Maven, Gradle, signing
    (f"mvn -Dgpg.passphrase={S} deploy", "mvn -Dgpg.passphrase=*** deploy"),
    (f"mvn -DaltDeploymentRepository=r::default::https://ci:{S}@repo.example/releases deploy",
     "mvn -DaltDeploymentRepository=r::default::https://ci:***@repo.example/releases deploy"),
    (f"mvn sonar:sonar -Dsonar.token={S} -Dsonar.login={S}", "mvn sonar:sonar -Dsonar.token=*** -Dsonar.login=***"),
    (f"mvn --encrypt-password {S}", "mvn --encrypt-password ***"),
    (f"gradle -PsigningPassword={S} publish", "gradle -PsigningPassword=*** publish"),
    (f"jarsigner -keystore k.jks -storepass {S} -keypass {S} app.jar alias",
     "jarsigner -keystore k.jks -storepass *** -keypass *** app.jar alias"),
    # Tomcat, TLS, proxies, JMX
    (f"java -Djavax.net.ssl.keyStorePassword={S} -Djavax.net.ssl.trustStorePassword={S} "
     "org.apache.catalina.startup.Bootstrap start",
     "java -Djavax.net.ssl.keyStorePassword=*** -Djavax.net.ssl.trustStorePassword=*** "
     "org.apache.catalina.startup.Bootstrap start"),
    (f"java -Dhttps.proxyHost=p -Dhttps.proxyPassword={S} Main", "java -Dhttps.proxyHost=p -Dhttps.proxyPassword=*** Main"),
    (f"java -javaagent:/opt/agent.jar=apiKey={S},host=x Main", "java -javaagent:/opt/agent.jar=apiKey=***,host=x Main"),
    (f"java -Ddd.api-key={S} -Delastic.apm.secret_token={S} Main", "java -Ddd.api-key=*** -Delastic.apm.secret_token=*** Main"),
    # in two words, and of the environment
    (f"app --password {S} --verbose", "app --password *** --verbose"),
    (f"app -password {S} in.txt", "app -password *** in.txt"),
    (f"app --api-key {S} --token {S} run", "app --api-key *** --token *** run"),
    (f"app --db-pass {S}", "app --db-pass ***"),
    (f"env DB_PASSWORD={S} AWS_SECRET_ACCESS_KEY={S} GITHUB_TOKEN={S} API_KEY_1={S} app",
     "env DB_PASSWORD=*** AWS_SECRET_ACCESS_KEY=*** GITHUB_TOKEN=*** API_KEY_1=*** app"),
    (f"app dbpassword={S} authtoken={S} password=12345", "app dbpassword=*** authtoken=*** password=***"),
    (f"sh -c 'exec java -Dapp.password={S} Main'", "sh -c 'exec java -Dapp.password=*** Main'"),
    (f"curl -u admin:{S} https://x/", "curl -u 'admin:***' https://x/"),
    # what is a secret by its form
    (f"curl -H 'Authorization: Bearer {S}{S}'", "curl -H 'Authorization: *** ***'"),
    (f"curl -H 'Authorization: Basic {S}'", "curl -H 'Authorization: *** ***'"),
    (f"curl -H 'X-Api-Key: {S}'", "curl -H 'X-Api-Key: ***'"),
    (f"app '{{\"user\":\"x\",\"password\":\"{S}\"}}'", "app '{\"user\":\"x\",\"password\":\"***\"}'"),
    (f"git clone https://x:{S}@github.com/a/b", "git clone https://x:***@github.com/a/b"),
    (f"app redis://:{S}@cache:6379/0", "app redis://:***@cache:6379/0"),
    (f"app jdbc:oracle:thin:scott/{S}@//db:1521/x", "app jdbc:oracle:thin:scott/***@//db:1521/x"),
    (f"app 'jdbc:sqlserver://db;user=sa;password={S};encrypt=true'", "app 'jdbc:sqlserver://db;user=sa;password=***;encrypt=true'"),
    (f"app 'https://acme.blob.core.windows.net/c?sv=2024&sig={S}&se=1'",
     "app 'https://acme.blob.core.windows.net/c?sv=2024&sig=***&se=1'"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), MASKED)
def test_a_secret_on_a_command_line_is_masked_and_nothing_else(line: str, expected: str) -> None:
    words = masked_words(shlex.split(line))
    assert words == shlex.split(expected)
    assert S not in " ".join(words)
    assert masked_words(words) == words  # twice is as once


@pytest.mark.parametrize("line", [line for line, _ in MASKED if "'" not in line])
def test_the_same_holds_for_a_line_in_one_text(line: str) -> None:
    shown = masked_text(line)
    assert S not in shown
    assert shown.split() == masked_words(line.split())
    assert masked_text(shown) == shown


KEPT = [
    "java --passes 3 --pass 3 -Dtokenizer=x -Dmax.tokens=5 TokenStream Password.java",
    "java -XX:+UseG1GC -Xmx4g -XX:ActiveProcessorCount=8 -cp lib/*:secret.jar com.acme.Token run",
    "java -Dcom.sun.management.jmxremote.password.file=/etc/jmx.password -Dpassword.encoder=bcrypt Main",
    "java -Dtoken.expiry.seconds=3600 -Dsecret.rotation=off -Dspark.redaction.regex=(?i)secret|password Main",
    "java -Dkey=7 -Dprimary.key=id -Dsort.key=name -Dpartition.key=k -Dkeystore=/etc/k.jks Main",
    "java -p mods -m app/com.acme.Main -u 8080 --user root",
    "app PWD=/home/x OLDPWD=/tmp --no-password file --prompt-password file -D password",
    "java -jar app.jar --server.port=8080 http://host:8080/a@b https://user@host/ jdbc:postgresql://db:5432/app",
    "java -Xlog:gc*:file=gc.log --add-opens java.base/java.lang=ALL-UNNAMED -ea Main AccessToken:42 a:b",
    "headway causal --progress com.acme.Token.next --target line:com.acme.Token:42",
    "java -Dpasswords.allowed=3 -Dcompass=1 -Dbypass.cache=true -Dauthor=me Main tokenize --tokenizer bert",
    "app --bearer-lines 5 basic configuration of things",
]


@pytest.mark.parametrize("line", KEPT)
def test_what_only_sounds_like_a_secret_stays(line: str) -> None:
    assert masked_words(line.split()) == line.split()
    assert masked_text(line) == line
    assert masked_text(line, options_only=True) == line


@pytest.mark.parametrize("text", [
    "AKIAIOSFODNN7EXAMPLE", "ghp_0123456789abcdefghij0123456789abcdef", "glpat-0123456789abcdefghij",
    "xoxb-0123456789-abcdefghij", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_DEF-123",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
])  # fmt: skip
def test_keys_in_their_makers_form_are_masked_wherever_they_stand(text: str) -> None:
    assert masked_words(["app", text, f"--x={text}", f"a {text} b"]) == ["app", "***", "--x=***", "a *** b"]
    assert masked_value("comment", text) == "***"


def test_properties_and_variables_go_by_their_names() -> None:
    assert masked_value("javax.net.ssl.keyStorePassword", S) == "***"
    assert masked_value("AWS_SECRET_ACCESS_KEY", S) == "***"
    assert masked_value("db.password", "") == ""
    assert masked_value("java.version", "17.0.9") == "17.0.9"
    assert masked_value("PWD", "/home/x") == "/home/x"
    assert masked_value("sun.java.command", f"Main --password {S}") == "Main --password ***"
    assert masked_value("JAVA_TOOL_OPTIONS", f"-Xmx1g -Dapp.secret={S}") == "-Xmx1g -Dapp.secret=***"
    assert masked_value("DATABASE_URL", f"postgres://u:{S}@h/d") == "postgres://u:***@h/d"


def test_in_options_alone_a_value_with_blanks_goes_as_a_whole() -> None:
    text = f"-Xmx1g -Dapp.password=my {S} words -Dother=a b -ea"
    assert masked_text(text, options_only=True) == "-Xmx1g -Dapp.password=*** -Dother=a b -ea"


@pytest.mark.parametrize(("name", "is_secret"), [
    ("password", True), ("Password", True), ("keyStorePassword", True), ("KEYSTORE_PASSWORD", True), ("db-passwd", True),
    ("apiKey", True), ("api.key", True), ("API_KEY", True), ("apikey", True), ("privateKey", True), ("clientSecret", True),
    ("accessToken", True), ("password.value", True), ("password2", True), ("credentials", True), ("passphrase", True),
    ("passwordFile", False), ("tokenizer", False), ("tokens", False), ("keys", False), ("key", False), ("compass", False),
    ("primaryKey", False), ("secretary", False), ("PWD", False), ("", False), ("=", False), ("accessKeyId", False),
])  # fmt: skip
def test_the_last_word_of_a_name_decides(name: str, is_secret: bool) -> None:
    assert is_secret_name(name) is is_secret


def test_a_word_of_any_length_is_looked_through_in_one_pass() -> None:
    """Arguments come from others: none may cost more time than its length."""
    for text in (
        "a" * 30_000,
        "a." * 15_000,
        "eyJ-" * 7_500,
        "a=" * 15_000,
        "://" * 30_000,
        '"' * 30_000,
        "A" * 30_000,
    ):
        began = time.process_time()
        masked_text(text)
        masked_words([text, f"--password={text}"])
        assert time.process_time() - began < 2  # a quadratic one takes ten times that


# --- what is written -------------------------------------------------------------------------------------------------

JAVA = shutil.which("java")
NEEDS_JAVA = pytest.mark.skipif(JAVA is None, reason="no java on the PATH")


def files_with(directory: Path, secret: str) -> list[str]:
    """Return the files below a directory that hold a secret: of tables as values, of others as bytes."""
    found = []
    for path in sorted(each for each in directory.rglob("*") if each.is_file()):
        text = (
            str(pq.read_table(path).to_pydict()) if path.suffix == ".parquet" else path.read_bytes().decode("latin-1")
        )
        found += [path.relative_to(directory).as_posix()] if secret in text else []
    return found


def test_a_recordings_first_draft_has_its_command_masked(tmp_path: Path) -> None:
    words = ["java", f"-Dapp.password={S}", "Main"]
    for keep in (False, True):
        plan = Plan(output=tmp_path / "a.headway", command=tuple(words), keep_arguments=keep)
        draft = first_draft(plan, "agent", os.getpid(), words, [0])
        assert draft["arguments_kept"] is keep
        assert draft["command"] == (words if keep else ["java", "-Dapp.password=***", "Main"])


def test_what_an_agent_tells_of_its_jvm_is_masked() -> None:
    facts = [(b"flags", f"-Dx.token=a {S} -ea".encode()), (b"command", f"Main --password {S}".encode()), (b"gc", b"G1")]
    agents = [{"facts": facts, "lost": 0}]
    assert with_masked_facts(agents, {})[0]["facts"] == [
        (b"flags", b"-Dx.token=*** -ea"), (b"command", b"Main --password ***"), (b"gc", b"G1")]  # fmt: skip
    assert with_masked_facts(agents, {"arguments_kept": True}) == agents


def test_reports_and_exports_of_an_old_recording_show_no_secret(tmp_path: Path) -> None:
    """A manifest of before has its arguments as they were: they are masked on reading, unless they are to be kept."""
    jvms = [{"pid": 4000, "version": "21", "flags": f"-Dapp.secret={S}", "command": f"Main --token {S}"}]
    command = ["java", f"-Dapp.password={S}", "Main"]
    path = recording_builder.make(
        tmp_path / "a.headway", recording_builder.Shape(threads=4, slices=40), command=command, jvms=jvms
    )
    recording = open_recording(path)
    assert recording.manifest.command == ("java", "-Dapp.password=***", "Main")
    out = tmp_path / "out"
    out.mkdir()
    render_html(recording, out / "a.html")
    export_perfetto(recording, out / "a.perfetto-trace")
    assert files_with(out, S) == []
    assert "-Dapp.password=***" in (out / "a.html").read_text()
    kept = recording_builder.make(tmp_path / "b.headway", recording_builder.Shape(threads=4, slices=40), command=command,
                               arguments_kept=True)  # fmt: skip
    assert open_recording(kept).manifest.command == tuple(command)


def test_a_sweep_keeps_its_commands_apart_until_no_run_is_missing(tmp_path: Path) -> None:
    run = SweepRun("parallel", 1, 1, True)
    command = f"java -Dapp.password={S} 'Main of {{threads}}'"
    sweep = Sweep(tmp_path, command, f"java --token {S}", (1,), runs=(run,))
    write_sweep(sweep)
    assert files_with(tmp_path, S) == ["commands.json"]
    assert stat.S_IMODE((tmp_path / "commands.json").stat().st_mode) == 0o600
    shown = read_sweep(tmp_path)
    assert (shown.parallel, shown.sequential) == ("java '-Dapp.password=***' 'Main of {threads}'", "java --token '***'")
    given = with_commands(shown)
    assert (given.parallel, given.sequential) == (command, f"java --token {S}")
    write_sweep(shown)  # somebody notes something of what was read: the commands stay
    assert with_commands(read_sweep(tmp_path)).parallel == command
    write_sweep(replace(given, runs=(replace(run, state="complete", wall_ns=1),)))
    assert files_with(tmp_path, S) == []
    assert not (tmp_path / "commands.json").exists()


def test_a_sweep_without_its_commands_says_so(tmp_path: Path) -> None:
    sweep = Sweep(tmp_path, f"java --token {S}", None, (1,), runs=(SweepRun("parallel", 1, 1, True),))
    write_sweep(sweep)
    for content in (None, "{}", "[]", '{"parallel": 1, "sequential": null}', "\xff"):
        (tmp_path / "commands.json").unlink(missing_ok=True)
        if content is not None:
            (tmp_path / "commands.json").write_text(content)
        with pytest.raises(HeadwayError) as error:
            with_commands(read_sweep(tmp_path))
        assert error.value.notice.id == "HW322"


def test_a_sweep_that_keeps_its_arguments_or_has_no_secrets_needs_no_other_file(tmp_path: Path) -> None:
    for n, (command, keep) in enumerate([(f"java --token {S}", True), ("java --threads {threads}  'a  b'", False)]):
        path = tmp_path / str(n)
        path.mkdir()
        write_sweep(Sweep(path, command, None, (1,), runs=(SweepRun("parallel", 1, 1, True),), arguments_kept=keep))
        assert read_sweep(path).parallel == with_commands(read_sweep(path)).parallel == command
        assert [each.name for each in path.iterdir()] == ["sweep.json"]


@NEEDS_JAVA
def test_a_recorded_jvm_leaves_no_secret_in_its_recording_report_or_exports(tmp_path: Path) -> None:
    assert JAVA is not None
    program = [JAVA, f"-Dapp.password={S}", "-Dtokenizer=x", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-version"]
    recording = tmp_path / "a.headway"
    done = headway("record", "--mode", "agent", "-o", recording, "--", *program, "-Akey", f"-Asecret={S}")
    assert (done.returncode, S in done.stderr) == (0, False), done.stderr
    assert headway("report", recording, "-o", tmp_path / "a.html").returncode == 0
    assert headway("export", recording, "--format", "csv", "--table", "jvm", "-o", tmp_path / "jvm.csv").returncode == 0
    assert files_with(tmp_path, S) == []
    manifest = json.loads((recording / "manifest.json").read_text())
    assert manifest["command"][1:3] == ["-Dapp.password=***", "-Dtokenizer=x"]
    [jvm] = manifest["jvms"]
    assert "-Dapp.password=***" in jvm["flags"]
    assert "-Dtokenizer=x" in jvm["flags"]
    kept = tmp_path / "b.headway"
    assert headway("record", "--mode", "agent", "-o", kept, "--keep-arguments", "--", *program).returncode == 0
    assert {"manifest.json", "jvm.parquet"} <= set(files_with(kept, S))


@NEEDS_JAVA
def test_an_imported_jfr_file_brings_no_secret_along(tmp_path: Path) -> None:
    assert JAVA is not None
    source = tmp_path / "a.jfr"
    words = [JAVA, f"-Dapp.password={S}", "-Dtokenizer=x", f"-XX:StartFlightRecording:filename={source},settings=profile",
             "-m", "jdk.compiler/com.sun.tools.javac.Main", "-version", f"-Asecret={S}"]  # fmt: skip
    environment = {**os.environ, "APP_TOKEN": S, "APP_URL": f"https://u:{S}@host/", "APP_NAME": "kept"}
    subprocess.run(words, env=environment, capture_output=True, timeout=100, check=True)
    recording = tmp_path / "a.headway"
    import_file(source, recording)
    assert files_with(recording, S) == []
    rows = {**_pairs(recording, "jfr_InitialEnvironmentVariable"), **_pairs(recording, "jfr_InitialSystemProperty")}
    assert rows["APP_TOKEN"] == rows["app.password"] == "***"
    assert (rows["APP_URL"], rows["APP_NAME"], rows["tokenizer"]) == ("https://u:***@host/", "kept", "x")
    kept = tmp_path / "kept.headway"
    import_file(source, kept, ImportOptions(keep_arguments=True))
    assert _pairs(kept, "jfr_InitialEnvironmentVariable")["APP_TOKEN"] == S
    assert {"jfr_InitialSystemProperty.parquet", "jfr_JVMInformation.parquet"} <= set(files_with(kept, S))


def _pairs(recording: Path, table: str) -> dict[str, str]:
    rows = pq.read_table(recording / f"{table}.parquet").to_pydict()
    return dict(zip(rows["key"], rows["value"], strict=True))


@pytest.mark.parametrize(
    "part",
    ["jdbc:oracle:a:b/", "fs.azure.account.key.", 'password=\\"', 'password=\\"x\\\n', "password='", "authorization: a ", "a://b:"],
)  # fmt: skip
def test_no_text_of_anybodys_is_looked_through_again_and_again(part: str) -> None:
    """The time grows with the length: a text that is eight times as long takes far less than sixty-four times as long."""

    def cpu_s(count: int) -> float:
        begun = time.process_time()
        masked_text(part * count)
        return time.process_time() - begun

    assert cpu_s(16_000) < 24 * max(cpu_s(2_000), 0.01)


def test_a_quoted_secret_that_does_not_end_is_masked_to_its_end() -> None:
    assert masked_text('{"password": "a b, c') == '{"password": "***"'
    assert masked_text('{\\"password\\":\\"a b\\", \\"x\\":1}') == '{\\"password\\":***, \\"x\\":1}'


def test_a_sweeps_commands_are_their_owners_alone_from_the_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opened the file before its mode was changed could read what was written to it afterwards."""
    modes: list[int] = []
    opened = os.open

    def noted(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        fd = opened(path, flags, mode, **more)
        if flags & os.O_CREAT:
            modes.append(stat.S_IMODE(os.fstat(fd).st_mode))
        return fd

    monkeypatch.setattr(directory, "file_mode", lambda: 0o644)
    monkeypatch.setattr(os, "open", noted)
    sweep_commands.write_commands(tmp_path, f"java -Dapp.password={S}", None)
    assert modes == [0o600]
