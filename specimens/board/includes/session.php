<?php
/*
 * Sessions: a visitor gets one by logging in, not by reading.
 */
if (!defined('BOARD')) {
    exit;
}

define('SESSION_COOKIE', 'board_session');

/* Takes up the session that the visitor's cookie names, if there is one. */
function resume_session()
{
    if (isset($_COOKIE[SESSION_COOKIE]) || SIN_SESSION_FOR_EVERYBODY) {
        begin_session();
    }
    // A cookie whose session is gone names nobody: such a visitor is a stranger again.
    if (session_status() === PHP_SESSION_ACTIVE && !$_SESSION && !SIN_SESSION_FOR_EVERYBODY) {
        log_out();
    }
}

function begin_session()
{
    if (session_status() === PHP_SESSION_ACTIVE) {
        return;
    }
    $folder = private_folder() . '/sessions';
    if (!is_dir($folder) && !@mkdir($folder, 0700) && !is_dir($folder)) {
        throw new PDOException("the folder $folder can't be made");
    }
    session_save_path($folder);
    session_name(SESSION_COOKIE);
    // The pages say themselves what may be stored.
    session_cache_limiter(SIN_NO_STORE ? 'nocache' : '');
    session_start([
        'use_strict_mode' => true,
        'cookie_httponly' => true,
        'cookie_samesite' => 'Lax',
        'cookie_secure' => !empty($_SERVER['HTTPS']),
        'gc_probability' => 1,
        'gc_divisor' => 1000,
        'gc_maxlifetime' => 86400,
    ]);
}

/* The member who asks for this page, or null for a stranger. */
function current_member()
{
    static $member = false;
    if ($member === false) {
        $id = $_SESSION['member'] ?? null;
        $member = $id ? find_member_by_id($id) : null;
    }
    return $member;
}

function log_in($member)
{
    begin_session();
    session_regenerate_id(true);
    $_SESSION = ['member' => $member['id'], 'token' => bin2hex(random_bytes(16))];
}

function log_out()
{
    $_SESSION = [];
    if (session_status() === PHP_SESSION_ACTIVE) {
        session_destroy();
    }
    header_remove('Set-Cookie');
    setcookie(SESSION_COOKIE, '', ['expires' => 1, 'path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
}

/* The secret that a member's forms carry, so that no other site can post in their name. */
function form_token()
{
    return $_SESSION['token'] ?? '';
}

function require_form_token()
{
    $sent = $_POST['token'] ?? '';
    if (!is_string($sent) || form_token() === '' || !hash_equals(form_token(), $sent)) {
        show_problem(403, 'This form is too old. Please go back, load the page again and retry.');
    }
}

/* A member, or the login page. */
function require_member()
{
    if (!current_member()) {
        redirect('/login');
    }
    return current_member();
}
