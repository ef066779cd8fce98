<?php
/*
 * A thread: its posts, page by page. A reply is posted to the address of the thread itself.
 */
if (!defined('BOARD')) {
    exit;
}

$thread = find_thread((int) $parts['id']);
if (!$thread) {
    show_not_found();
}

if (is_post()) {
    $member = require_member();
    require_form_token();
    $body = posted('body');
    if ($body === '' || strlen($body) > 20000) {
        show_problem(422, 'A post has between 1 and 20,000 characters.');
    }
    add_post($thread['id'], $member, $body);
    redirect(last_post_path(find_thread($thread['id'])));
}

require_reading();
$page = (int) ($parts['page'] ?? 1);
$pages = page_count($thread['posts'], POSTS_PER_PAGE);
if ($page > $pages) {
    show_not_found();
}
if (SIN_VIEW_COUNTER) {
    count_view($thread);
}
show('thread', [
    'title'  => $thread['subject'] . ($page > 1 ? " – page $page" : ''),
    'thread' => $thread,
    'posts'  => posts_of_page($thread, $page),
    'page'   => $page,
    'pages'  => $pages,
], (int) $thread['changed']);
