<?php

declare(strict_types=1);

// A topic of a forum, fifty posts on a page, made the way ordinary pages are: rows of a
// database with their authors, a template, and BBCode that becomes HTML. ?way= says by whom:
//
//     none     nobody: the posts are escaped and no more
//     own      the forum's own expressions, at each view
//     at-once  the same with one expression for all smilies
//     table    the same once, kept by the forum in its database
//     batch    Wick, asked once for the page
//     blocks   Wick, which finds the posts marked in the page
//
// A page is nobody else's, unless ?kept=1 lets caches have it. Each run leaves one byte in
// $BENCH_COUNT. `php topic.php fill POSTS` makes the database of a file of posts that end in a
// NUL.

require __DIR__ . '/bbcode.php';
require __DIR__ . '/wick.php';

const POSTS_A_PAGE = 50;
const AUTHORS = 200;

function database(): PDO
{
    return new PDO('sqlite:' . __DIR__ . '/topics.sqlite', null, null, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
    ]);
}

function fill(string $file): void
{
    $database = database();
    $database->exec('CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT, posts INTEGER, joined INTEGER)');
    $database->exec('CREATE TABLE topics (id INTEGER PRIMARY KEY, title TEXT)');
    $database->exec('CREATE TABLE posts (id INTEGER PRIMARY KEY, topic INTEGER, author INTEGER, written INTEGER, text TEXT, html TEXT)');
    $database->exec('CREATE INDEX posts_topic ON posts (topic, id)');
    $database->beginTransaction();
    $author = $database->prepare('INSERT INTO authors VALUES (?, ?, ?, ?)');
    for ($id = 0; $id < AUTHORS; $id++) {
        $author->execute([$id, "user$id", $id * 37 % 5000, 1_200_000_000 + $id * 86_400]);
    }
    $topic = $database->prepare('INSERT INTO topics VALUES (?, ?)');
    $post = $database->prepare('INSERT INTO posts VALUES (NULL, ?, ?, ?, ?, ?)');
    $bbcode = new Bbcode();
    foreach (explode("\0", rtrim(file_get_contents($file), "\0")) as $at => $text) {
        if ($at % POSTS_A_PAGE === 0) {
            $topic->execute([intdiv($at, POSTS_A_PAGE), 'Topic & talk ' . intdiv($at, POSTS_A_PAGE)]);
        }
        $author = $at * 7 % AUTHORS;
        $post->execute([intdiv($at, POSTS_A_PAGE), $author, 1_700_000_000 + $at * 60, $text, $bbcode->render($text)]);
    }
    $database->commit();
}

/** The posts' HTML, by their ids. */
function rendered(array $posts, string $way): array
{
    $bbcode = new Bbcode($way === 'at-once');
    $own = $bbcode->render(...);
    $texts = array_column($posts, 'text', 'id');

    return match ($way) {
        'none' => array_map(htmlspecialchars(...), $texts),
        'own', 'at-once' => array_map($own, $texts),
        'table' => array_column($posts, 'html', 'id'),
        'batch' => wick_render($texts, 'torrentpier', $own),
        'blocks' => array_map(fn ($text) => wick_block($text, 'torrentpier', $own), $texts),
    };
}

if (PHP_SAPI === 'cli') {
    fill($argv[2]);
    exit;
}

file_put_contents(getenv('BENCH_COUNT'), '.', FILE_APPEND | LOCK_EX);
$way = $_GET['way'] ?? 'own';
$id = (int) ($_GET['topic'] ?? 0);
$database = database();
$asked = $database->prepare('SELECT title FROM topics WHERE id = ?');
$asked->execute([$id]);
$title = htmlspecialchars($asked->fetchColumn());
$column = $way === 'table' ? 'posts.html' : 'posts.text';
$asked = $database->prepare(
    "SELECT posts.id, posts.written, $column, authors.name, authors.posts, authors.joined
     FROM posts JOIN authors ON authors.id = posts.author WHERE posts.topic = ? ORDER BY posts.id LIMIT " . POSTS_A_PAGE
);
$asked->execute([$id]);
$posts = $asked->fetchAll();
$html = rendered($posts, $way);

header('Content-Type: text/html; charset=utf-8');
header('Cache-Control: ' . (isset($_GET['kept']) ? 'public, max-age=3600' : 'private, no-store'));
echo "<!doctype html>\n<html><head><title>$title</title></head>\n<body><h1>$title</h1>\n";
foreach ($posts as $post) {
    $name = htmlspecialchars($post['name']);
    echo "<article id=\"p{$post['id']}\"><header><a href=\"/member/$name\">$name</a>, {$post['posts']} posts, since ",
        gmdate('Y-m-d', $post['joined']), '; ', gmdate('Y-m-d H:i', $post['written']),
        "</header>\n<div class=\"post\">", $html[$post['id']],
        "</div>\n<footer><a href=\"/quote/{$post['id']}\">Quote</a> <a href=\"/report/{$post['id']}\">Report</a></footer></article>\n";
}
echo "</body></html>\n";
