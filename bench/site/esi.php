<?php
// A page of five parts (?size= bytes when it is put together), or one of its parts
// (?part=N), which is a fifth of that less what stands between them. Each run leaves one
// byte in $BENCH_COUNT, so that the driver can tell an answer from a cache from one made.

$parts = 5;
$size = max(1000, min(1000000, (int) ($_GET['size'] ?? 9435)));
file_put_contents(getenv('BENCH_COUNT'), '.', FILE_APPEND | LOCK_EX);
header('Content-Type: text/html; charset=utf-8');
header('Cache-Control: public, max-age=3600');

$part_bytes = intdiv($size, 10);
if (isset($_GET['part'])) {
    $text = 'Part ' . (int) $_GET['part'] . ' ' . str_repeat(sha1($_GET['part']) . ' ', 50);
    $body = str_pad(substr("<aside><p>$text", 0, $part_bytes - 12), $part_bytes - 12) . '</p></aside>';
    $body = substr($body, 0, $part_bytes);
    header('Content-Length: ' . strlen($body));
    echo $body;
    return;
}

header('Surrogate-Control: max-age=3600, content="ESI/1.0"');
$between = intdiv($size - $parts * $part_bytes, $parts + 1);
$body = '';
for ($part = 1; $part <= $parts; $part++) {
    $text = '<p>' . str_repeat(sha1("text $part") . ' ', 100);
    $body .= str_pad(substr($text, 0, $between - 4), $between - 4) . '</p>';
    $body .= "<esi:include src=\"/esi.php?size=$size&amp;part=$part\"/>";
}
$rest = $size - $parts * ($part_bytes + $between);
$body .= str_pad('', $rest, '.');
header('Content-Length: ' . strlen($body));
echo $body;
