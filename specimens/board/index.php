<?php
/*
 * The front controller: every page of the board begins here.
 */
define('BOARD', __DIR__);

require BOARD . '/config.php';
require BOARD . '/includes/database.php';
require BOARD . '/includes/seed.php';
require BOARD . '/includes/session.php';
require BOARD . '/includes/threads.php';
require BOARD . '/includes/members.php';
require BOARD . '/includes/text.php';
require BOARD . '/includes/response.php';

// A pattern of the path, and the file in pages/ that answers it with the parts it names.
$routes = [
    '#^/(?:page/(?<page>[1-9]\d{0,5}))?$#'                                => 'front',
    '#^/thread/(?<id>[1-9]\d{0,8})(?:/page/(?<page>[1-9]\d{0,5}))?$#' => 'thread',
    '#^/member/(?<name>[A-Za-z0-9_-]{2,24})$#'                            => 'member',
    '#^/new$#'                                                            => 'new',
    '#^/search$#'                                                         => 'search',
    '#^/login$#'                                                          => 'login',
    '#^/logout$#'                                                         => 'logout',
    '#^/register$#'                                                       => 'register',
];

$path = strtok($_SERVER['REQUEST_URI'] ?? '/', '?');

try {
    resume_session();
    if (SIN_SLOW_MILLISECONDS > 0) {
        usleep(SIN_SLOW_MILLISECONDS * 1000);
    }
    foreach ($routes as $pattern => $page) {
        if (preg_match($pattern, $path, $parts)) {
            require BOARD . "/pages/$page.php";
            exit;
        }
    }
    show_not_found();
} catch (PDOException $problem) {
    error_log('board: ' . $problem->getMessage());
    http_response_code(503);
    header('Cache-Control: no-store');
    header('Retry-After: 5');
    echo 'The board can\'t reach its database just now. Please come back in a moment.';
}
