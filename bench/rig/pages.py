"""Pages to be searched, and what is asked for: Debian's help of LibreOffice in six languages.

Packages are fetched with apt-get and unpacked, not installed, into target/search-bench. A page is
its title and the text of its main part. What is asked for is drawn from the texts by a fixed seed,
so a word comes as often as it is on pages, and each run asks the same.
"""

import html
import os
import random
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rig import report, servers
from rig.scope import Void

LANGUAGES = ("de", "en-us", "es", "fr", "ja", "ko")
# Whose words begin and end in the same places for everybody who reads them letter by letter.
SPACED = ("de", "en", "es", "fr")
# Words of so many letters are words for MariaDB as well.
LETTERS_MIN, LETTERS_MAX = 3, 40
# So much of a run without spaces.
DENSE_MAX = 4
RARE_MAX = 3
KINDS = {"one": 25, "two": 25, "three": 15, "phrase": 15, "boolean": 15, "rare": 5}


@dataclass
class Page:
    """What is indexed."""

    id: int
    language: str
    title: str
    text: str


@dataclass
class Wish:
    """What somebody looks for: its kind, the language it came from, and how both kinds of server
    are asked."""

    kind: str
    language: str
    sphinx: str
    mariadb: str


def folder():
    """Where packages and what is made of them are kept."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", servers.REPOSITORY / "target"))
    made = target / "search-bench"
    made.mkdir(parents=True, exist_ok=True)
    return made


def pages():
    """All of them, in an order in which languages take turns."""
    kept = folder() / "pages.tsv"
    if not kept.exists():
        report.progress("making pages …")
        found = [list(_of(language)) for language in LANGUAGES]
        turns = [one for turn in zip(*found, strict=True) for one in turn]
        lines = [
            "\t".join([str(number), *line]) for number, line in enumerate(turns, start=1)
        ]
        half = kept.with_suffix(".half")
        half.write_text("\n".join(lines) + "\n")
        half.rename(kept)
    lines = kept.read_text().splitlines()
    return [Page(int(line[0]), *line[1:]) for line in (line.split("\t") for line in lines)]


def _of(language):
    """Language, title and text of each page of a package."""
    name = f"libreoffice-help-{language}"
    unpacked = folder() / "packages" / name
    if not unpacked.exists():
        command = ["apt-get", "download", name]
        done = subprocess.run(command, cwd=folder(), capture_output=True, text=True, check=False)
        files = list(folder().glob(f"{name}_*.deb"))
        if done.returncode != 0 or not files:
            raise Void(f"apt-get download {name}: {done.stderr.strip()[-200:]}")
        half = unpacked.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", files[0], half], check=True)
        half.rename(unpacked)
        files[0].unlink()
    for file in sorted(unpacked.rglob("text/**/*.html")):
        whole = file.read_text(errors="replace")
        title = re.search(r"<title>(.*?)</title>", whole, re.DOTALL)
        # What stands in the footer is on all of them.
        main = whole.partition('id="DisplayArea"')[2].partition(">")[2].partition("<footer")[0]
        main = re.sub(r"<(script|style)\b.*?</\1>", " ", main, flags=re.DOTALL)
        yield language[:2], _plain(title[1] if title else ""), _plain(main)


def _plain(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split())


def more(all_pages, count):
    """So many pages: those that there are, again and again, each time with other words among
    them. A tenth of them are changed, so that distinct words become more about as in a language:
    three times as many in six times the text."""
    dice = random.Random(3)
    for number in range(count):
        page = all_pages[number % len(all_pages)]
        turn = number // len(all_pages)
        words = page.text.split(" ")
        if turn:
            for place in range(dice.randrange(10), len(words), 10):
                words[place] = f"{words[place]}{chr(97 + turn)}"
        yield Page(number + 1, page.language, page.title, " ".join(words))


def wishes(all_pages, count):
    """What is asked for."""
    dice = random.Random(9)
    texts = [_words(page) for page in all_pages]
    on_pages = {}
    for words in texts:
        for word in set(words):
            on_pages[word] = on_pages.get(word, 0) + 1
    kinds, weights = list(KINDS), list(KINDS.values())
    found = []
    while len(found) < count:
        at = dice.randrange(len(all_pages))
        kind = dice.choices(kinds, weights)[0]
        if kind == "phrase":
            words = _phrase(dice, all_pages[at])
        else:
            words = _drawn(dice, kind, texts[at], on_pages)
        if words:
            asked = _asked(dice, kind, words)
            found.append(Wish(kind, all_pages[at].language, *asked))
    return found


def _words(page):
    """Those of a text, in their order. Where there are no spaces, pieces of what stands there."""
    runs = re.findall(r"[^\W\d_]+", page.text.lower())
    cut = (run if run.isascii() or page.language != "ja" else run[:DENSE_MAX] for run in runs)
    return [run for run in cut if LETTERS_MIN <= len(run) <= LETTERS_MAX]


def _phrase(dice, page):
    """Two or three neighbours; none where nobody is found near a place."""
    text = page.text.lower()
    word = rf"[^\W\d_]{{{LETTERS_MIN},{LETTERS_MAX}}}"
    here = re.compile(rf"\b{word}(?: {word}){{1,2}}\b")
    found = here.search(text, dice.randrange(max(1, len(text))))
    words = found[0].split() if found else []
    return [words[0], *words[1 : dice.randint(2, 3)]] if words else []


def _drawn(dice, kind, words, on_pages):
    """Words of one page that somebody may have in mind; none where it has too few."""
    # Each counts once, or every query would be for the commonest words of its language.
    distinct = sorted(set(words))
    if kind == "rare":
        distinct = [word for word in distinct if on_pages[word] <= RARE_MAX]
    wanted = {"one": 1, "rare": 1, "two": 2}.get(kind, 3)
    return dice.sample(distinct, wanted) if len(distinct) >= wanted else []


def _asked(dice, kind, words):
    """The same for Sphinx and for MariaDB."""
    if kind == "phrase":
        phrase = f'"{" ".join(words)}"'
        return phrase, phrase
    if kind == "boolean":
        one, two, three = words
        return dice.choice(
            [
                (f"({one} | {two}) {three}", f"+({one} {two}) +{three}"),
                (f"{one} {two} -{three}", f"+{one} +{two} -{three}"),
                (f"{one} | {two} | {three}", f"{one} {two} {three}"),
            ]
        )
    return " ".join(words), " ".join(f"+{word}" for word in words)
