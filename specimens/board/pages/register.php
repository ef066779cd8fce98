<?php
/*
 * Registration; a new member is logged in at once.
 */
if (!defined('BOARD')) {
    exit;
}

$problem = null;
if (is_post()) {
    $password = $_POST['password'] ?? '';
    $result = register_member(posted('name'), is_string($password) ? $password : '');
    if (is_array($result)) {
        log_in($result);
        redirect('/');
    }
    $problem = $result;
    http_response_code(422);
} else {
    require_reading();
}
show('register', ['title' => 'Register', 'problem' => $problem]);
