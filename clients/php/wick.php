<?php
/*
 * What PHP may ask of the Wick that serves it: BBCode rendered, values kept outside the
 * database, pages tagged and purged. One file without a need; PHP 7.2 and later.
 *
 * Everything works without Wick too: markup is then rendered by the site's own function, no
 * value is ever found, and nothing is purged. Nothing here throws, and nothing takes longer
 * than WICK_SECONDS: after one failure Wick isn't asked again for the rest of the request.
 */

/* How long Wick may take, in all, for one thing that is asked of it. */
if (!defined('WICK_SECONDS')) {
    define('WICK_SECONDS', 1);
}

/* Whether Wick serves this request. No visitor can make it seem so. */
function wick_is_here()
{
    return isset($_SERVER['WICK_SOCKET'], $_SERVER['WICK_KEY']);
}

/*
 * HTML of each of these texts, by their keys; one call for a whole page. $dialect is phpbb2,
 * phpbb3, torrentpier, mybb, smf, vbulletin, or "site" for the dialect that wick.toml names.
 * $own renders one text where Wick can't; texts have to be UTF-8.
 */
function wick_render(array $texts, $dialect, callable $own)
{
    $asked = ['dialect' => $dialect, 'texts' => array_values($texts)];
    $answer = $texts ? wick_ask('/1/render', $asked) : null;
    if (!isset($answer['html']) || count($answer['html']) !== count($texts)) {
        return array_map($own, $texts);
    }
    return array_combine(array_keys($texts), $answer['html']);
}

/*
 * One text as a block of the page, which Wick fills on the page's way out; without Wick, what
 * $own makes of it. To be echoed where HTML may stand, on any page before its head is sent.
 */
function wick_block($text, $dialect, callable $own)
{
    static $nonce = null;
    if ($nonce === null) {
        $nonce = '';
        if (wick_is_here() && !headers_sent()) {
            $nonce = bin2hex(random_bytes(16));
            header("X-Wick-Fill: $nonce");
        }
    }
    if ($nonce === '') {
        return $own($text);
    }
    $safe = htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
    return "<!--wick $nonce $dialect-->$safe<!--/wick $nonce-->";
}

/* Names by which this page is purged. To be called before the page's head is sent. */
function wick_tag(...$tags)
{
    if (wick_is_here() && !headers_sent()) {
        header('Cache-Tag: ' . implode(',', array_map('rawurlencode', $tags)), false);
    }
}

/* Purges every page that bears one of these tags. Whether Wick did is told. */
function wick_purge_tags(...$tags)
{
    return wick_ask('/1/purge', ['tags' => array_map('rawurlencode', $tags)]) !== null;
}

/* Purges pages by their whole addresses, as in https://example.org/page. */
function wick_purge_urls(...$urls)
{
    return wick_ask('/1/purge', ['urls' => $urls]) !== null;
}

/* Purges all pages of the site. */
function wick_purge_all()
{
    return wick_ask('/1/purge', ['all' => true]) !== null;
}

/*
 * Views that visitors had from Wick's memory, as [address => count]: for the script that "views"
 * names in wick.toml. Null, and status 403, where somebody else asks. $key is what "views_key"
 * says where Wick comes by HTTP; with PHP it is known.
 */
function wick_views($key = null)
{
    if ($key === null) {
        $key = isset($_SERVER['WICK_KEY']) ? $_SERVER['WICK_KEY'] : '';
    }
    $shown = isset($_SERVER['HTTP_WICK_VIEWS_KEY']) ? $_SERVER['HTTP_WICK_VIEWS_KEY'] : '';
    $told = null;
    if ($key !== '' && hash_equals($key, $shown) && $_SERVER['REQUEST_METHOD'] === 'POST') {
        $told = json_decode(file_get_contents('php://input'), true);
    }
    if (!isset($told['views']) || !is_array($told['views'])) {
        http_response_code(403);
        return null;
    }
    $views = [];
    foreach ($told['views'] as $page) {
        $views[$page['target']] = (int) $page['count'];
    }
    return $views;
}

/* A value that was kept, or null. */
function wick_cache_get($namespace, $key)
{
    $found = wick_cache_get_many($namespace, [$key]);
    return isset($found[$key]) ? $found[$key] : null;
}

/* Values that were kept, by their keys; keys of which none was are left out. */
function wick_cache_get_many($namespace, array $keys)
{
    $places = array_map(function ($key) use ($namespace) {
        return [$namespace, (string) $key];
    }, array_values($keys));
    $answer = wick_objects(['get' => $places]);
    $found = [];
    foreach (isset($answer['got']) ? $answer['got'] : [] as $at => $kept) {
        $value = $kept === null ? null : @unserialize(base64_decode($kept), ['allowed_classes' => false]);
        if ($value !== null && $value !== false) {
            $found[array_values($keys)[$at]] = $value;
        }
    }
    return $found;
}

/*
 * Keeps a value: numbers, strings, and arrays of these. It is found until the seconds are over,
 * its namespace is bumped, or something else needs the room. What was made from data read before
 * a bump is not found after it, whichever of the two came first to Wick.
 */
function wick_cache_set($namespace, $key, $value, $seconds = 3600)
{
    $known = wick_versions();
    if (!isset($known[$namespace])) {
        // Too late to know what the value was made from, so it is only good from now on.
        wick_cache_get_many($namespace, ['']);
        $known = wick_versions();
    }
    if (!isset($known[$namespace])) {
        return false;
    }
    $kept = base64_encode(serialize($value));
    $set = [[$namespace, (string) $key, $known[$namespace], $kept, (int) $seconds]];
    return wick_objects(['set' => $set]) !== null;
}

/* Forgets a value. */
function wick_cache_delete($namespace, $key)
{
    return wick_objects(['delete' => [[$namespace, (string) $key]]]) !== null;
}

/* Forgets all values of a namespace, however many there are. */
function wick_cache_bump($namespace)
{
    return wick_objects(['bump' => [$namespace]]) !== null;
}

/* The value that was kept, or what $make returns, which is kept then. */
function wick_cache($namespace, $key, $seconds, callable $make)
{
    $value = wick_cache_get($namespace, $key);
    if ($value === null) {
        $value = $make();
        wick_cache_set($namespace, $key, $value, $seconds);
    }
    return $value;
}

/* --- What follows is for the functions above. --- */

/*
 * The namespaces' versions when this request first spoke of them: what it makes from then on
 * bears them.
 */
function wick_versions($told = null)
{
    static $known = [];
    if ($told !== null) {
        $known += $told;
    }
    return $known;
}

function wick_objects(array $asked)
{
    $answer = wick_ask('/1/objects', $asked);
    wick_versions(isset($answer['versions']) ? $answer['versions'] : []);
    return $answer;
}

/* The answer to one question, or null. */
function wick_ask($path, array $asked)
{
    static $stream = null;
    if ($stream === false || !wick_is_here()) {
        return null;
    }
    $body = json_encode($asked, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
    if ($body === false) {
        return null;
    }
    if ($stream === null) {
        // A name that begins with @ is one of Linux' abstract sockets.
        $name = preg_replace('/^@/', "\0", $_SERVER['WICK_SOCKET']);
        $stream = @stream_socket_client("unix://$name", $number, $error, WICK_SECONDS);
        if ($stream === false) {
            return null;
        }
        stream_set_timeout($stream, WICK_SECONDS);
    }
    $head = "POST $path HTTP/1.1\r\nHost: wick\r\nAuthorization: Bearer {$_SERVER['WICK_KEY']}\r\n"
        . 'Content-Type: application/json' . "\r\nContent-Length: " . strlen($body) . "\r\n\r\n";
    $answer = wick_write($stream, $head . $body) ? wick_read($stream) : null;
    if ($answer === null) {
        fclose($stream);
        $stream = false;
        return null;
    }
    list($status, $json) = $answer;
    if ($status !== 200) {
        error_log("wick: $path: $json");
        return null;
    }
    return json_decode($json, true);
}

function wick_write($stream, $bytes)
{
    while ($bytes !== '') {
        $count = @fwrite($stream, $bytes);
        if (!$count) {
            return false;
        }
        $bytes = (string) substr($bytes, $count);
    }
    return true;
}

/* The status and the body, or null. */
function wick_read($stream)
{
    $line = fgets($stream, 1024);
    if (!is_string($line) || !preg_match('~^HTTP/1\.1 (\d{3}) ~', $line, $status)) {
        return null;
    }
    $length = 0;
    while (is_string($line = fgets($stream, 1024)) && rtrim($line) !== '') {
        if (preg_match('/^content-length:\s*(\d+)/i', $line, $found)) {
            $length = (int) $found[1];
        }
    }
    $body = $length ? stream_get_contents($stream, $length) : '';
    return is_string($body) && strlen($body) === $length ? [(int) $status[1], $body] : null;
}
