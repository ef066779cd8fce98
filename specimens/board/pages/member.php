<?php
/*
 * A member and what they wrote last.
 */
if (!defined('BOARD')) {
    exit;
}

require_reading();
$shown = find_member($parts['name']);
if (!$shown) {
    show_not_found();
}
show('member', [
    'title' => $shown['name'],
    'shown' => $shown,
    'count' => count_posts_of($shown),
    'posts' => last_posts_of($shown),
]);
