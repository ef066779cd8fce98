<?php
// One page of exactly ?size= bytes, made the way ordinary pages are: rows from a
// list, escaped, in a loop. Each run leaves one byte in $BENCH_COUNT, so that the
// driver can tell an answer from a cache from one that was made.

$size = max(300, min(1000000, (int) ($_GET['size'] ?? 9435)));
file_put_contents(getenv('BENCH_COUNT'), '.', FILE_APPEND | LOCK_EX);

$title = 'Thread ' . htmlspecialchars($_GET['n'] ?? '1');
$body = "<!doctype html>\n<html><head><title>$title</title></head>\n<body><h1>$title</h1>\n";
for ($post = 1; strlen($body) < $size - 200; $post++) {
    $author = htmlspecialchars('Reader & writer ' . ($post * 7 % 13));
    $body .= "<article id=\"p$post\"><b>$author</b><p>"
        . htmlspecialchars(substr(str_repeat(sha1("post $post") . ' ', 4), 0, 90 + $post % 60))
        . "</p></article>\n";
}
$body = str_pad(substr($body, 0, $size - 15), $size - 15, ' ') . "</body></html>\n";

header('Content-Type: text/html; charset=utf-8');
header('Cache-Control: public, max-age=3600');
header('Content-Length: ' . strlen($body));
echo $body;
