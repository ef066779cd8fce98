//! Four apps in one database: a forum, a shop, a blog and a tracker, with the statements
//! that such apps send, and how often.
//!
//! The schema is what a plugin's or a hurried app's is: primary keys, some indexes, and
//! some that are missing. The same statements make it on MariaDB, MySQL and PostgreSQL;
//! rows come of the server's own numbers, so the same on each run.

/// Numbers up to this one are in the table that rows are made of.
const NUMBERS: u32 = 100_000;

/// How each server makes `numbers`.
pub(crate) const MARIADB_NUMBERS: &str = "WITH s(n) AS (SELECT seq FROM seq_1_to_100000)";
pub(crate) const MYSQL_NUMBERS: &str = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL \
    SELECT n + 1 FROM s WHERE n < 100000)";
pub(crate) const POSTGRES_NUMBERS: &str =
    "WITH s(n) AS (SELECT generate_series(1::bigint, 100000))";

/// Tables, how many rows each has, and what each row is made of: `n` is its number, `a`, `b`
/// and `c` are spread evenly from 0 to 999,999, `z` from 0 to 999 with most near 0.
const TABLES: &[(&str, &str, u32, &str)] = &[
    // The forum.
    (
        "forums",
        "id INT PRIMARY KEY, parent INT, name VARCHAR(60)",
        30,
        "n, n % 4, CONCAT('forum', n)",
    ),
    (
        "topics",
        "id INT PRIMARY KEY, forum INT, author INT, title VARCHAR(100), created INT, \
         last_post INT, views INT, state INT",
        10_000,
        "n, a % 30, z * 10 + b % 10, CONCAT('topic ', n), n * 60, 600000 + b, c % 5000, \
         CASE WHEN c % 50 = 0 THEN 0 ELSE 1 END",
    ),
    (
        "posts",
        "id INT PRIMARY KEY, topic INT, author INT, created INT, state INT, ip VARCHAR(40), \
         body VARCHAR(200)",
        100_000,
        "n, z * 10 + a % 10, b % 5000, n * 6, CASE WHEN c % 20 = 0 THEN 0 ELSE 1 END, \
         CONCAT('10.', a % 50, '.', b % 200, '.', c % 250), CONCAT('this is post ', n)",
    ),
    (
        "members",
        "id INT PRIMARY KEY, name VARCHAR(60), email VARCHAR(90), joined INT, last_seen INT, \
         level INT",
        5_000,
        "n, CONCAT('member', n), CONCAT('m', n, '@example.org'), n * 100, 400000 + a, \
         CASE WHEN n % 500 = 0 THEN 9 ELSE 1 END",
    ),
    (
        "sessions",
        "id VARCHAR(40) PRIMARY KEY, member INT, seen INT",
        8_000,
        "CONCAT('s', n * 7919), b % 5000, a",
    ),
    (
        "messages",
        "id INT PRIMARY KEY, sender INT, recipient INT, is_read INT, created INT",
        30_000,
        "n, a % 5000, b % 5000, CASE WHEN c % 10 = 0 THEN 0 ELSE 1 END, n * 20",
    ),
    // The shop.
    (
        "products",
        "id INT PRIMARY KEY, sku VARCHAR(30), category INT, brand INT, price INT, active INT, \
         name VARCHAR(80), UNIQUE (sku)",
        10_000,
        "n, CONCAT('SKU', n), a % 40, b % 200, c % 10000, CASE WHEN b % 10 = 0 THEN 0 ELSE 1 END, \
         CONCAT('product ', n)",
    ),
    (
        "orders",
        "id INT PRIMARY KEY, customer INT, state VARCHAR(10), created INT, total INT, paid INT",
        30_000,
        "n, a % 4000, CASE WHEN b % 100 = 0 THEN 'open' ELSE 'done' END, n * 20, c % 5000, \
         CASE WHEN b % 100 = 0 THEN NULL ELSE n * 20 + 5 END",
    ),
    (
        "items",
        "id INT PRIMARY KEY, purchase INT, product INT, amount INT",
        60_000,
        "n, FLOOR((n + 1) / 2), z * 10 + a % 10, 1 + b % 5",
    ),
    (
        "reviews",
        "id INT PRIMARY KEY, product INT, stars INT, approved INT, created INT",
        20_000,
        "n, z * 10 + a % 10, 1 + b % 5, CASE WHEN c % 10 = 0 THEN 0 ELSE 1 END, n * 30",
    ),
    // The blog.
    (
        "articles",
        "id INT PRIMARY KEY, kind VARCHAR(20), status VARCHAR(20), author INT, published INT, \
         slug VARCHAR(90), title VARCHAR(90)",
        8_000,
        "n, CASE WHEN a % 4 = 0 THEN 'post' ELSE 'revision' END, \
         CASE WHEN b % 10 = 0 THEN 'draft' ELSE 'publish' END, c % 20, n * 80, \
         CONCAT('slug-', n), CONCAT('title ', a)",
    ),
    (
        "comments",
        "id INT PRIMARY KEY, article INT, approved VARCHAR(10), email VARCHAR(90), created INT",
        40_000,
        "n, z * 8 + a % 8, CASE WHEN b % 8 = 0 THEN 'spam' ELSE '1' END, \
         CONCAT('c', c % 9000, '@example.org'), n * 15",
    ),
    (
        "articlemeta",
        "id INT PRIMARY KEY, article INT, name VARCHAR(60), val VARCHAR(90)",
        30_000,
        "n, n % 8000, CONCAT('key', a % 25), CONCAT('v', b % 300)",
    ),
    (
        "options",
        "id INT PRIMARY KEY, name VARCHAR(60), autoload VARCHAR(10)",
        200,
        "n, CONCAT('option', n), CASE WHEN n % 3 = 0 THEN 'no' ELSE 'yes' END",
    ),
    // The tracker.
    (
        "torrents",
        "id INT PRIMARY KEY, hash VARCHAR(40), category INT, added INT, seeders INT, owner INT, \
         UNIQUE (hash)",
        10_000,
        "n, CONCAT('h', n * 104729), a % 20, n * 60, z, b % 5000",
    ),
    (
        "peers",
        "id INT PRIMARY KEY, torrent INT, peer VARCHAR(40), is_seeder INT, updated INT",
        40_000,
        "n, z * 10 + a % 10, CONCAT('-p', b), CASE WHEN c % 3 = 0 THEN 0 ELSE 1 END, 100000 + c % 900000",
    ),
    (
        "snatches",
        "id INT PRIMARY KEY, member INT, torrent INT, completed INT",
        40_000,
        "n, a % 5000, z * 10 + b % 10, n * 15",
    ),
];

/// Indexes that were made with the tables.
const INDEXES: &[&str] = &[
    "CREATE INDEX article_list ON articles (kind, status, published, id)",
    "CREATE INDEX comment_article ON comments (article)",
    "CREATE INDEX meta_article ON articlemeta (article)",
    "CREATE INDEX message_sender ON messages (sender)",
    "CREATE INDEX order_customer ON orders (customer)",
];

/// Everything that makes the site, one statement each, with this part of its rows.
pub(crate) fn seed(numbers: &str, part: u32) -> Vec<String> {
    let mut all = vec![
        "CREATE TABLE numbers (n BIGINT PRIMARY KEY, a BIGINT, b BIGINT, c BIGINT, z BIGINT)"
            .into(),
        format!(
            "INSERT INTO numbers {numbers} SELECT n, (n * 48271) % 2147483647 % 1000000, \
             (n * 69621) % 2147483647 % 1000000, (n * 1103515245) % 2147483647 % 1000000, \
             FLOOR(POWER((n * 39373) % 2147483647 / 2147483647e0, 3) * 1000) \
             FROM s"
        ),
    ];
    for (name, columns, rows, values) in TABLES {
        assert!(*rows <= NUMBERS, "{name}");
        all.push(format!("CREATE TABLE {name} ({columns})"));
        // What is small in truth stays as it is.
        let rows = if *rows < 1000 { *rows } else { rows / part };
        all.push(format!("INSERT INTO {name} SELECT {values} FROM numbers WHERE n <= {rows}"));
    }
    all.extend(INDEXES.iter().map(|index| (*index).to_owned()));
    all.push("DROP TABLE numbers".to_owned());
    all
}

/// Names of all tables.
pub(crate) fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.0)
}

/// A statement, and how often it is sent.
pub(crate) type Sent = (u32, &'static str);

/// What is read: forty kinds.
pub(crate) const READS: &[Sent] = &[
    (300, "SELECT id, author, body FROM posts WHERE topic = 77 ORDER BY id LIMIT 20"),
    (
        200,
        "SELECT id, title FROM topics WHERE forum = 5 AND state = 1 ORDER BY last_post DESC LIMIT 30",
    ),
    (100, "SELECT id, topic FROM posts ORDER BY created DESC LIMIT 10"),
    (50, "SELECT id, topic FROM posts WHERE author = 123 ORDER BY created DESC LIMIT 20"),
    (100, "SELECT id FROM members WHERE name = 'member77'"),
    (300, "SELECT name, email FROM members WHERE id = 4711"),
    (300, "SELECT member FROM sessions WHERE id = 's79190'"),
    (100, "SELECT member FROM sessions WHERE seen > 985000"),
    (200, "SELECT COUNT(*) FROM messages WHERE recipient = 5 AND is_read = 0"),
    (20, "SELECT id FROM messages WHERE sender = 5 OR recipient = 5"),
    (10, "SELECT MAX(id) FROM posts WHERE state = 1 AND body <> 'x'"),
    (20, "SELECT id FROM members WHERE LOWER(email) = 'm77@example.org'"),
    (2, "SELECT id, title FROM topics ORDER BY views DESC LIMIT 10"),
    (
        100,
        "SELECT p.id, m.name FROM posts p JOIN members m ON m.id = p.author WHERE p.topic = 99 ORDER BY p.id LIMIT 20",
    ),
    (100, "SELECT name FROM forums WHERE parent = 3"),
    (3, "SELECT id FROM posts WHERE ip = '10.7.7.7'"),
    (
        5,
        "SELECT t.id, p.body FROM topics t JOIN posts p ON p.topic = t.id WHERE t.author = 3021 AND p.state = 0",
    ),
    (
        100,
        "SELECT id, price FROM products WHERE category = 7 AND active = 1 ORDER BY price LIMIT 24",
    ),
    (100, "SELECT id FROM products WHERE sku = 'SKU1234'"),
    (30, "SELECT id FROM products WHERE category = 7 AND price BETWEEN 1000 AND 1500"),
    (40, "SELECT id, total FROM orders WHERE customer = 44 ORDER BY created DESC LIMIT 10"),
    (
        40,
        "SELECT o.id, i.product FROM orders o JOIN items i ON i.purchase = o.id WHERE o.customer = 44",
    ),
    (80, "SELECT id, name FROM products WHERE id IN (4, 77, 1009, 5555)"),
    (
        10,
        "SELECT product, SUM(amount) FROM items WHERE product IN (8001, 9002, 7003) GROUP BY product",
    ),
    (20, "SELECT id FROM orders WHERE state = 'open' ORDER BY created LIMIT 50"),
    (5, "SELECT COUNT(*) FROM orders WHERE state = 'done' AND total > 10"),
    (60, "SELECT AVG(stars) FROM reviews WHERE product = 5005 AND approved = 1"),
    (
        3,
        "SELECT p.name, SUM(i.amount) FROM items i JOIN products p ON p.id = i.product WHERE p.brand = 4 GROUP BY p.name",
    ),
    (
        100,
        "SELECT id FROM articles WHERE kind = 'post' AND status = 'publish' ORDER BY published DESC LIMIT 10",
    ),
    (100, "SELECT id, title FROM articles WHERE slug = 'slug-4321'"),
    (80, "SELECT id FROM comments WHERE article = 4008 AND approved = '1' ORDER BY created"),
    (20, "SELECT id FROM comments WHERE email = 'c77@example.org' AND approved = '1' LIMIT 1"),
    (50, "SELECT id FROM comments WHERE approved = '1' ORDER BY created DESC LIMIT 5"),
    (20, "SELECT article FROM articlemeta WHERE name = 'key7' AND val = 'v77'"),
    (200, "SELECT name FROM options WHERE autoload = 'yes'"),
    (
        10,
        "SELECT id FROM articles WHERE published >= 300000 AND published < 310000 AND status = 'publish' AND kind = 'post'",
    ),
    (5, "SELECT id FROM articles WHERE title LIKE '%4711%'"),
    (200, "SELECT peer FROM peers WHERE torrent = 4005 AND is_seeder = 1 LIMIT 50"),
    (60, "SELECT id FROM torrents WHERE category IN (1, 2, 3) ORDER BY added DESC LIMIT 50"),
    (60, "SELECT COUNT(*) FROM snatches WHERE member = 3 AND torrent = 9"),
    (3, "SELECT id FROM torrents WHERE category = 2 ORDER BY seeders DESC LIMIT 20"),
];

/// What is written.
pub(crate) const WRITES: &[Sent] = &[
    (100, "INSERT INTO posts VALUES (200001, 77, 123, 700000, 1, '10.1.1.1', 'new')"),
    (3000, "UPDATE topics SET views = views + 1 WHERE id = 777"),
    (100, "UPDATE topics SET last_post = 1700000 WHERE id = 777"),
    (500, "UPDATE sessions SET seen = 1000001 WHERE id = 's79190'"),
    (5, "DELETE FROM sessions WHERE seen < 5000"),
    (20, "INSERT INTO orders VALUES (200001, 44, 'open', 700000, 100, NULL)"),
    (40, "INSERT INTO items VALUES (200001, 30001, 77, 1)"),
    (1000, "UPDATE peers SET updated = 1000001 WHERE id = 7777"),
    (2, "DELETE FROM peers WHERE updated < 110000"),
    (3000, "UPDATE torrents SET seeders = seeders + 1 WHERE id = 7777"),
    (30, "INSERT INTO comments VALUES (200001, 4008, '1', 'c77@example.org', 700000)"),
    (50, "INSERT INTO messages VALUES (200001, 7, 5, 0, 700000)"),
];
