"""Who comes to the nodes all the while: strangers who read, editors who write, members.

Each asks the node of the machine that they are at, by a connection a request, and notes what came
of it. Strangers stay; editors read at one and write at another, and members are now here, now there.
An edit counts from the moment at which its answer was here, by the one clock that all of them
share; a request counts from the moment before it was sent.
"""

import contextlib
import http.client
import itertools
import random
import re
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlencode

from rig.cluster_faults.stage import HOST, HTTP, NODES

POSTS = (1, 2, 3, 4)
STRANGERS = 3
EDIT = re.compile(rb"edit-(\d+)-")
PRIVATE = re.compile(rb"private-[a-z0-9]+-[0-9a-f]{6}")
MARKED_STALE = re.compile(r"ttl=-|detail=(error|purged)")
SECONDS_MAX = 30


@dataclass
class Asked:
    """One request and what came of it; `older` is by how many seconds what it showed was past
    the edits through nodes, and `older_sql` past those by SQL."""

    node: str
    who: str
    began: float
    ended: float = 0.0
    way: str = "served"
    verdict: str = ""
    older: float = 0.0
    older_sql: float = 0.0
    crossed: str = ""

    @property
    def is_marked_stale(self):
        return MARKED_STALE.search(self.verdict) is not None

    @property
    def is_hit(self):
        return "; hit" in self.verdict


class Edits:
    """Which edits of which post are acknowledged, and since when."""

    def __init__(self):
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.acknowledged = {post: {} for post in POSTS}

    def note(self, post, number, is_sql):
        with self.lock:
            self.acknowledged[post][number] = (time.monotonic(), is_sql)

    def older(self, post, body, began, is_sql):
        """By how many seconds a page is past the first edit that it lacks."""
        shown = {int(number) for number in EDIT.findall(body)}
        with self.lock:
            known = list(self.acknowledged[post].items())
        missing = [at for number, (at, by_sql) in known if number not in shown and by_sql == is_sql]
        return max((began - at for at in missing), default=0.0)


class Visitors:
    """All of them; `asked` is what came of it."""

    def __init__(self, stage, seed):
        self.stage, self.edits, self.asked = stage, Edits(), []
        self.private = {}
        self.is_over = threading.Event()
        self.threads, self.errors = [], []
        for node in NODES:
            for number in range(STRANGERS):
                self._send(self._read, node, random.Random(f"{seed}-{node}-{number}"))
            self._send(self._edit, node, random.Random(f"{seed}-{node}-editor"))
            self._send(self._be_member, node, random.Random(f"{seed}-{node}-member"))
        if stage.kind.is_followed:
            self._send(self._edit_by_sql, None, random.Random(f"{seed}-sql"))

    def _send(self, what, node, dice):
        def run():
            try:
                what(node, dice)
            except Exception as error:
                self.errors.append(f"a visitor of {node} stopped: {error!r}")

        thread = threading.Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()

    def end(self):
        """They go; returns when the last has his answer."""
        self.is_over.set()
        for thread in self.threads:
            thread.join(2 * SECONDS_MAX)

    def _read(self, node, dice):
        self.stage.network.enter(node)
        while not self.is_over.wait(dice.uniform(0.02, 0.12)):
            post = dice.choice(POSTS)
            asked, _, _, body = self._ask(node, "stranger", "GET", f"/post/{post}")
            if asked.way == "served":
                self._judge(asked, post, body)
            self.asked.append(asked)

    def _judge(self, asked, post, body):
        if b'<ol id="comments">' not in body or b"</html>" not in body:
            asked.way = "another page"
        asked.older = self.edits.older(post, body, asked.began, False)
        asked.older_sql = self.edits.older(post, body, asked.began, True)

    def _edit(self, node, dice):
        self.stage.network.enter(node)
        while not self.is_over.wait(dice.uniform(3, 6)):
            post, number = dice.choice(POSTS), next(self.edits.numbers)
            # Read at one node, written to another: nobody is told which it is.
            node = self._move(dice)
            asked, _, _, body = self._ask(node, "editor", "GET", f"/post/{post}")
            if asked.way == "served":
                self._judge(asked, post, body)
            self.asked.append(asked)
            node = self._move(dice)
            words = {"author": "Ed", "body": f"edit-{number}-"}
            asked, status, _, _ = self._ask(node, "editor", "POST", f"/post/{post}", words)
            if status == 303:
                self.edits.note(post, number, False)
            elif asked.way == "served":
                asked.way = f"{status} for an edit"
            self.asked.append(asked)

    def _move(self, dice):
        """A node, and from now on this visitor is at its machine."""
        node = dice.choice(NODES)
        self.stage.network.enter(node)
        return node

    def _edit_by_sql(self, _, dice):
        while not self.is_over.wait(dice.uniform(1.5, 3)):
            post, number = dice.choice(POSTS), next(self.edits.numbers)
            # While the database is down nothing is acknowledged.
            with contextlib.suppress(Exception):
                self.stage.database.ask(
                    "INSERT INTO comments (post, author, body) "
                    f"VALUES ({post}, 'SQL', 'edit-{number}-')"
                )
                self.edits.note(post, number, True)

    def _be_member(self, node, dice):
        self.stage.network.enter(node)
        note = f"private-{node}-{dice.randrange(16**6):06x}"
        self.private[node] = note
        cookie = self._log_in(node, note)
        while not self.is_over.wait(dice.uniform(0.1, 0.3)):
            path = dice.choice(["/account", "/", f"/post/{dice.choice(POSTS)}"])
            node = self._move(dice)
            asked, _, _, body = self._ask(node, "member", "GET", path, cookie=cookie, note=note)
            if asked.way == "served" and note.encode() not in body:
                asked.way = "a member's page without what is hers"
            self.asked.append(asked)

    def _log_in(self, node, note):
        """A session whose pages show the note."""
        words = {"user": "ann", "password": "wonderland"}
        _, _, cookie, _ = self._ask(node, "login", "POST", "/login", words)
        _, _, _, body = self._ask(node, "login", "GET", "/account", cookie=cookie)
        token = re.search(rb'name="token" value="([^"]+)"', body)
        if token is None:
            raise RuntimeError(f"ann can't log in at {node}: {body[:300]!r}")
        words = {"token": token[1].decode(), "note": note}
        self._ask(node, "login", "POST", "/note", words, cookie=cookie)
        return cookie

    def _ask(self, node, who, method, path, words=None, cookie=None, note=None):
        """(what came of it, status, cookie, body)"""
        asked = Asked(node, who, time.monotonic())
        status, body = 0, b""
        fields = {"Host": HOST, "Connection": "close", "User-Agent": "Mozilla/5.0 (X11) Visitor"}
        fields |= {"Cookie": cookie} if cookie else {}
        fields |= {"Content-Type": "application/x-www-form-urlencoded"} if words else {}
        address = self.stage.places[node].address
        link = http.client.HTTPConnection(address, HTTP, timeout=SECONDS_MAX)
        try:
            link.request(method, path, urlencode(words) if words else None, fields)
            answer = link.getresponse()
            status, body = answer.status, answer.read()
            asked.verdict = answer.getheader("Cache-Status", "")
            cookie = (answer.getheader("Set-Cookie") or cookie or "").partition(";")[0]
            if status not in (200, 303):
                asked.way = str(status)
        except (OSError, http.client.HTTPException) as error:
            asked.way = type(error).__name__
        finally:
            link.close()
        asked.ended = time.monotonic()
        foreign = set(PRIVATE.findall(body)) - {(note or "").encode()}
        if foreign:
            asked.crossed = f"a {who} of {node} was shown {len(foreign)} notes of others"
        return asked, status, cookie, body
