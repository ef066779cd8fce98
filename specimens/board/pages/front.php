<?php
/*
 * The front page: threads, the most recently answered first. A new thread is posted here.
 */
if (!defined('BOARD')) {
    exit;
}

if (is_post()) {
    $member = require_member();
    require_form_token();
    $subject = posted('subject');
    $body = posted('body');
    if ($subject === '' || $body === '' || strlen($subject) > 120 || strlen($body) > 20000) {
        show_problem(422, 'A thread needs a subject of at most 120 characters and a first post.');
    }
    redirect(thread_path(add_thread($member, $subject, $body)['id']));
}

require_reading();
$page = (int) ($parts['page'] ?? 1);
$pages = page_count(count_threads(), THREADS_PER_PAGE);
if ($page > $pages) {
    show_not_found();
}
show('front', [
    'title'   => BOARD_NAME . ($page > 1 ? " – page $page" : ''),
    'threads' => threads_of_page($page),
    'page'    => $page,
    'pages'   => $pages,
], last_change());
