CREATE TABLE members (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE COLLATE NOCASE,
    password TEXT NOT NULL,
    title    TEXT NOT NULL DEFAULT 'Newcomer',
    joined   INTEGER NOT NULL
);

CREATE TABLE threads (
    id        INTEGER PRIMARY KEY,
    member    INTEGER NOT NULL REFERENCES members (id),
    subject   TEXT NOT NULL,
    posts     INTEGER NOT NULL DEFAULT 0,
    views     INTEGER NOT NULL DEFAULT 0,
    last_post INTEGER,
    changed   INTEGER NOT NULL
);

CREATE INDEX threads_by_change ON threads (changed DESC);

CREATE TABLE posts (
    id      INTEGER PRIMARY KEY,
    thread  INTEGER NOT NULL REFERENCES threads (id),
    member  INTEGER NOT NULL REFERENCES members (id),
    body    TEXT NOT NULL,
    written INTEGER NOT NULL
);

CREATE INDEX posts_by_thread ON posts (thread, id);
CREATE INDEX posts_by_member ON posts (member, id);
