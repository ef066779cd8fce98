<?php
/*
 * Responses: a page from its template, with the fields that say who may store it.
 *
 * Strangers all read the same page, so a cache may share it. A member's page bears the
 * member's name and is private. Both have the same address, hence Vary: Cookie.
 */
if (!defined('BOARD')) {
    exit;
}

/* Shows a template. $changed is when what it shows last changed, if that is known. */
function show($template, array $values = [], $changed = null)
{
    header('Content-Type: text/html; charset=utf-8');
    send_cache_fields($changed);
    $values += ['title' => BOARD_NAME, 'member' => current_member()];
    ob_start();
    render('header', $values);
    render($template, $values);
    render('footer', $values);
    $page = ob_get_clean();
    if ($changed !== null && http_response_code() === 200 && is_unchanged($page)) {
        http_response_code(304);
        return;
    }
    header('Content-Length: ' . strlen($page));
    if (($_SERVER['REQUEST_METHOD'] ?? '') !== 'HEAD') {
        echo $page;
    }
}

function render($template, array $values)
{
    extract($values, EXTR_SKIP);
    require BOARD . "/templates/$template.php";
}

function send_cache_fields($changed)
{
    header('Vary: Cookie');
    $is_stranger = session_status() !== PHP_SESSION_ACTIVE && !isset($_COOKIE[SESSION_COOKIE]);
    if (SIN_NO_STORE || !is_reading()) {
        header('Cache-Control: no-store, no-cache, must-revalidate');
    } elseif ($is_stranger) {
        header('Cache-Control: public, max-age=' . SHARED_SECONDS);
    } else {
        header('Cache-Control: private, no-cache');
    }
    if ($changed !== null) {
        header('Last-Modified: ' . gmdate('D, d M Y H:i:s', $changed) . ' GMT');
    }
}

/* Sends the page's tag and tells whether the visitor has this very page already. */
function is_unchanged($page)
{
    $tag = '"' . substr(sha1($page), 0, 20) . '"';
    header("ETag: $tag");
    $known = $_SERVER['HTTP_IF_NONE_MATCH'] ?? '';
    return trim($known) === '*' || strpos($known, $tag) !== false;
}

/* After a write: the visitor is sent on with a GET. */
function redirect($path)
{
    http_response_code(303);
    header('Cache-Control: no-store');
    header("Location: $path");
    exit;
}

function show_not_found()
{
    http_response_code(404);
    show('message', ['title' => 'Not found', 'message' => 'There is nothing at this address.']);
    exit;
}

function show_problem($status, $sentence)
{
    http_response_code($status);
    header('Cache-Control: no-store');
    header('Content-Type: text/html; charset=utf-8');
    $values = ['title' => 'That did not work', 'message' => $sentence, 'member' => current_member()];
    render('header', $values);
    render('message', $values);
    render('footer', $values);
    exit;
}

/* A text field of a form, trimmed; anything else than text counts as empty. */
function posted($name)
{
    return is_string($_POST[$name] ?? null) ? trim($_POST[$name]) : '';
}

function is_post()
{
    return ($_SERVER['REQUEST_METHOD'] ?? '') === 'POST';
}

function is_reading()
{
    return in_array($_SERVER['REQUEST_METHOD'] ?? '', ['GET', 'HEAD'], true);
}

/* For addresses that may only be read. */
function require_reading()
{
    if (!is_reading()) {
        header('Allow: GET, HEAD');
        show_problem(405, 'This address can only be read.');
    }
}
