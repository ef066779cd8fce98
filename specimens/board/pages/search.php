<?php
/*
 * Search: the newest posts that hold every word.
 */
if (!defined('BOARD')) {
    exit;
}

require_reading();
$sought = is_string($_GET['q'] ?? null) ? trim(substr($_GET['q'], 0, 100)) : '';
$words = preg_split('/\s+/', $sought, -1, PREG_SPLIT_NO_EMPTY);
show('search', [
    'title'  => $sought === '' ? 'Search' : "Search: $sought",
    'sought' => $sought,
    'posts'  => $words ? search_posts($words) : [],
]);
