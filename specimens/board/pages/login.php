<?php
/*
 * Logging in: the moment at which a visitor gets a session.
 */
if (!defined('BOARD')) {
    exit;
}

$problem = null;
if (is_post()) {
    $found = check_password(posted('name'), $_POST['password'] ?? null);
    if ($found) {
        log_in($found);
        redirect('/');
    }
    $problem = 'That name and that password do not belong together.';
    http_response_code(403);
} else {
    require_reading();
}
show('login', ['title' => 'Log in', 'problem' => $problem]);
