//! Writes, and what has to be heard of them, from whatever server of MySQL's kind.

/// Tables of every shape: a key with text, one without, one of several columns.
pub(crate) const TABLES: &str = "USE site; \
    CREATE TABLE options (id BIGINT AUTO_INCREMENT PRIMARY KEY, option_name VARCHAR(191) NOT NULL UNIQUE, \
        option_value LONGTEXT, at DATETIME(3) NULL, price DECIMAL(12,4) NULL, kind ENUM('a','b') NULL, \
        flags SET('x','y') NULL, bits BIT(11) NULL, rate DOUBLE NULL, day DATE NULL, short CHAR(200) NULL); \
    CREATE TABLE posts (id INT AUTO_INCREMENT PRIMARY KEY, title TEXT, views INT DEFAULT 0); \
    CREATE TABLE settings (member INT, name CHAR(30), value TEXT, PRIMARY KEY (member, name)) ENGINE=MyISAM;";

/// Writes, and what is told of them with names, without, and from statements.
pub(crate) struct Write {
    pub(crate) statement: &'static str,
    pub(crate) by_row: &'static [&'static str],
    pub(crate) by_statement: &'static [&'static str],
}

const fn write(
    statement: &'static str,
    by_row: &'static [&'static str],
    by_statement: &'static [&'static str],
) -> Write {
    Write { statement, by_row, by_statement }
}

pub(crate) const WRITES: &[Write] = &[
    write(
        "INSERT INTO options (option_name, option_value, at, price, kind, flags, bits, rate, day, short) VALUES \
         ('blogname', 'A', '2026-01-02 03:04:05.678', 1.5, 'b', 'x,y', 5, 0.25, '2026-01-02', 's'), \
         ('_transient_5f8a1c', REPEAT('long', 2000), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        &["Insert options  _transient_#", "Insert options  blogname"],
        &["Insert options  _transient_#", "Insert options  blogname"],
    ),
    write(
        "UPDATE options SET option_value = 'B', rate = 2 WHERE option_name = 'blogname'",
        &["Update options option_value+rate blogname"],
        &["Update options option_value+rate blogname"],
    ),
    write(
        "INSERT INTO options (option_name, option_value) VALUES ('blogname', 'C') \
         ON DUPLICATE KEY UPDATE option_value = VALUES(option_value)",
        &["Update options option_value blogname"],
        &[],
    ),
    write(
        "INSERT INTO posts (title) VALUES ('One'), ('Two')",
        &["Insert posts  -"],
        &["Insert posts  -"],
    ),
    write(
        "UPDATE posts SET views = views + 1",
        &["Update posts views -"],
        &["Update posts views -"],
    ),
    write(
        "UPDATE posts p JOIN options o SET p.title = o.option_value WHERE o.option_name = 'blogname'",
        &["Update posts title -"],
        // Its outcome may depend on an order, so its rows are logged.
        &["Update posts 1 -"],
    ),
    write(
        "INSERT INTO settings VALUES (7, 'theme', 'dark')",
        &["Insert settings  #,theme"],
        &["Insert settings  #,theme"],
    ),
    write(
        "UPDATE settings SET value = 'light' WHERE member = 7 AND name = 'theme'",
        &["Update settings value #,theme"],
        &["Update settings value #,theme"],
    ),
    write(
        "DELETE FROM settings WHERE name = 'theme'",
        &["Delete settings  #,theme"],
        &["Delete settings  ?"],
    ),
    write("DELETE FROM posts", &["Delete posts  -"], &["Delete posts  -"]),
    write("TRUNCATE options", &["Other options  ?"], &["Other options  ?"]),
    write("ALTER TABLE posts ADD COLUMN likes INT", &["Schema   ?"], &["Schema   ?"]),
    write(
        "INSERT INTO posts (title, likes) VALUES ('x', 1)",
        &["Insert posts  -"],
        &["Insert posts  -"],
    ),
    write("UPDATE posts SET likes = 2", &["Update posts likes -"], &["Update posts likes -"]),
    write("CREATE DATABASE other", &["Schema   ?"], &["Schema   ?"]),
];
