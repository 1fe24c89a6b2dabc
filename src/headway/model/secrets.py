"""Masks values that look like secrets in command lines, system properties and environment variables.

Recordings are passed on, and a program's arguments often hold passwords. Names decide first: `NAME=VALUE`, `-DNAME=VALUE` and
`--NAME VALUE` lose their value where the last word of NAME says that it is a secret (`keyStorePassword`, `API_KEY`; but not
`password.file` or `tokenizer`). Then texts that are secrets wherever they stand: passwords in URLs, bearer tokens, keys in the
form that their makers give them. It is a sieve, not a proof: docs/explanation/trust-boundaries.md says what passes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"

_LAST = {"password", "passwd", "passphrase", "pwd", "pass", "pw", "secret", "token", "credential", "credentials"}
_LAST |= {"authorization", "cookie", "apikey", "storepass", "keypass", "bearer"}
"""Words at the end of a name that make its value a secret."""
_ENDS = ("password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey", "secret", "token")
"""The same where words run together: `dbpassword`, `authtoken`."""
_KEYS = {
    "api",
    "private",
    "access",
    "secret",
    "account",
    "encryption",
    "signing",
    "master",
    "shared",
    "auth",
    "session",
}
"""Words before `key` that make it a secret; a mere key is one of a map."""
_TRAILING = {"value", "text", "plain", "raw", "base64", "b64", "hex"}
"""Words after a secret's name that leave it one: `password.value`."""
_HARMLESS = {"PWD", "OLDPWD", "pwd"}
"""Whole names: the working directory of a shell."""
_WHOLE = {"sonar.login"}
"""Whole names of secrets that no rule knows."""
_MAYBE_COUNTS = {"pass", "pw"}
"""Words that may as well name a number: `--pass 3` of several passes."""
_OPTION_VERBS = {
    "no",
    "use",
    "with",
    "without",
    "ask",
    "prompt",
    "prompts",
    "needs",
    "require",
    "requires",
    "enable",
    "disable",
}
"""Words at the begin of an option that takes no value: `--prompt-password`."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SIMPLE_NAME = re.compile(r"[\w.\-\[\]/:]+")
_ASSIGNED = re.compile(r"(?<![\w.\-])([\w.\-]+)(\\?\"?\s*=\s*|\\?\"\s*:\s*|:\s+)")
_VALUE = re.compile(
    r"\\\"[^\"\\]*(?:\\[^\"][^\"\\]*)*(?:\\?\"|\\?\Z)"  # \"...\" of JSON in a string
    r"|\"(?:[^\"\\]|\\[\s\S])*(?:\"|\\?\Z)"
    r"|'[^']*(?:'|\Z)"
    r"|[^\s;,&\"')}\]]+"
)
"""A quoted value that does not end goes to the end of the text. No pattern here may look at the same text again and again: texts
are anybody's, and of any length."""
_NUMBER = re.compile(r"\d+")
_TOKEN = re.compile(r"\S+")
_USER = re.compile(r"([^\s:/]+):(?!\d+$)[^\s/]+")

_TEXTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"((?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]*://[^\s/@:?#]*):[^\s/]+@"),
        rf"\1:{MASK}@",
    ),  # scheme://user:password@host
    (re.compile(r"(jdbc:oracle:\w+:[^/\s@:]{1,256})/[^\s@]{1,256}@"), rf"\1/{MASK}@"),
    (re.compile(r"(?i)([?&](?:sig|signature|x-amz-signature|x-amz-security-token)=)[^&\s]+"), rf"\1{MASK}"),
    (re.compile(r"(?i)\b(bearer)([ :=]+)(?!\*)[\w+/=.~\-]{8,}"), rf"\1\2{MASK}"),
    (re.compile(r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?\w+)\s+[^\s\"']+"), rf"\1 {MASK}"),
    (re.compile(r"(fs\.azure\.account\.key\.[\w.\-]{1,256}=)\S+"), rf"\1{MASK}"),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), MASK),
    (re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|npm_|hvs\.|sk_live_|rk_live_|xox[abprs]-)[\w\-]{16,}"), MASK),
    (re.compile(r"\bAIza[\w\-]{35}"), MASK),
    (re.compile(r"(?<![\w\-])eyJ[\w\-]{8,}\.eyJ[\w\-]{8,}\.[\w\-]*"), MASK),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL), MASK),
)
"""What is a secret wherever it stands."""


def is_secret_name(name: str) -> bool:
    """Return whether the value with this name is a secret."""
    bare = name.removeprefix("-D").lstrip("-/")
    if bare in _HARMLESS:
        return False
    words = [word.lower() for word in _WORDS.findall(bare)]
    while len(words) > 1 and (words[-1] in _TRAILING or words[-1].isdigit()):
        words.pop()
    if not words:
        return False
    last = words[-1]
    is_key = last == "key" and len(words) > 1 and words[-2] in _KEYS
    return last in _LAST or last.endswith(_ENDS) or is_key or bare in _WHOLE


def masked_value(name: str, value: str) -> str:
    """Return a system property's or environment variable's value; `***` if its name says it is a secret."""
    if value and is_secret_name(name) and not _is_count(name, value):
        return MASK
    return masked_text(value)


def masked_words(words: Iterable[str]) -> list[str]:
    """Return a command's words with values that look like secrets masked."""
    found: list[str] = []
    before = ""
    for word in words:
        found.append(_after_option(before, word) or _masked_word(word))
        before = word
    return found


def masked_text(text: str, *, options_only: bool = False) -> str:
    """Return a command line (one text) with values that look like secrets masked.

    A value with blanks in it can't be told from the words after it. In a text of options alone (`options_only`), what follows
    a masked value up to the next option goes with it.
    """
    text = _masked_inside(text)  # first: a quoted value may have blanks in it
    parts, at, before, is_masked = [], 0, "", False
    for match in _TOKEN.finditer(text):
        word = match[0]
        shown = _after_option(before, word) or _masked_word(word)
        goes_with_it = options_only and is_masked and not word.startswith("-")
        if not goes_with_it:
            parts += [text[at : match.start()], shown]
            is_masked = shown.endswith(f"={MASK}") and is_secret_name(shown.partition("=")[0])
        at, before = match.end(), word
    return "".join([*parts, text[at:]])


def _after_option(before: str, word: str) -> str | None:
    """Return what becomes of a word after an option without `=`: its value may be a secret. None: nothing by that."""
    if not before.startswith("-") or "=" in before or word.startswith("-"):
        return None
    if before in ("-u", "--user") and (user := _USER.fullmatch(word)):
        return f"{user[1]}:{MASK}"
    name = before.lstrip("-")
    first = _WORDS.findall(name)[:1]
    if before.startswith("-D") or not is_secret_name(name) or (first and first[0].lower() in _OPTION_VERBS):
        return None
    return None if _is_count(name, word) else MASK


def _masked_word(word: str) -> str:
    name, assigned, value = word.partition("=")
    is_name = bool(assigned and value and _SIMPLE_NAME.fullmatch(name)) and "://" not in name
    if is_name and is_secret_name(name) and not _is_count(name, value):
        return f"{name}={MASK}"
    return _masked_inside(word)


def _masked_inside(text: str) -> str:
    """Return a text with the secrets masked that stand somewhere in it."""
    for pattern, instead in _TEXTS:
        text = pattern.sub(instead, text)
    return _masked_assignments(text)


def _masked_assignments(text: str) -> str:
    """Return a text with the values masked of those NAME=VALUE, NAME: VALUE and "NAME":"VALUE" in it that are secrets."""
    parts, at, look = [], 0, 0
    while match := _ASSIGNED.search(text, look):
        look = match.end()
        value = _VALUE.match(text, look) if is_secret_name(match[1]) else None
        if value is not None and not _is_count(match[1], value[0].strip("\"'")):
            quote = value[0][0] if value[0][0] in "\"'" else ""
            parts += [text[at : match.end()], f"{quote}{MASK}{quote}"]
            at = look = value.end()
    return "".join([*parts, text[at:]])


def _is_count(name: str, value: str) -> bool:
    """Return whether a name that may name a number has one."""
    words = _WORDS.findall(name)
    return bool(words) and words[-1].lower() in _MAYBE_COUNTS and _NUMBER.fullmatch(value) is not None
