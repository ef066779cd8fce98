<?php
/*
 * Threads and their posts: reading, writing, searching.
 */
if (!defined('BOARD')) {
    exit;
}

function count_threads()
{
    return (int) query('SELECT COUNT(*) FROM threads')->fetchColumn();
}

function threads_of_page($page)
{
    return query(
        'SELECT threads.*, starter.name AS starter, last.name AS last_member
         FROM threads
         JOIN members AS starter ON starter.id = threads.member
         JOIN posts ON posts.id = threads.last_post
         JOIN members AS last ON last.id = posts.member
         ORDER BY threads.changed DESC, threads.id DESC LIMIT ? OFFSET ?',
        [THREADS_PER_PAGE, ($page - 1) * THREADS_PER_PAGE]
    )->fetchAll();
}

function find_thread($id)
{
    return query('SELECT * FROM threads WHERE id = ?', [$id])->fetch() ?: null;
}

function posts_of_page($thread, $page)
{
    return query(
        'SELECT posts.*, members.name, members.title, members.joined
         FROM posts JOIN members ON members.id = posts.member
         WHERE posts.thread = ? ORDER BY posts.id LIMIT ? OFFSET ?',
        [$thread['id'], POSTS_PER_PAGE, ($page - 1) * POSTS_PER_PAGE]
    )->fetchAll();
}

/* Adds a post and tells its number. */
function add_post($thread_id, $member, $body)
{
    $now = time();
    query(
        'INSERT INTO posts (thread, member, body, written) VALUES (?, ?, ?, ?)',
        [$thread_id, $member['id'], $body, $now]
    );
    $post_id = (int) database()->lastInsertId();
    query(
        'UPDATE threads SET posts = posts + 1, last_post = ?, changed = ? WHERE id = ?',
        [$post_id, $now, $thread_id]
    );
    return $post_id;
}

function add_thread($member, $subject, $body)
{
    database()->beginTransaction();
    query(
        'INSERT INTO threads (member, subject, changed) VALUES (?, ?, ?)',
        [$member['id'], $subject, time()]
    );
    $thread_id = (int) database()->lastInsertId();
    add_post($thread_id, $member, $body);
    database()->commit();
    return find_thread($thread_id);
}

function count_view($thread)
{
    query('UPDATE threads SET views = views + 1 WHERE id = ?', [$thread['id']]);
}

/* The newest posts in which every word occurs. */
function search_posts($words)
{
    $conditions = $values = [];
    foreach (array_slice($words, 0, 5) as $word) {
        $conditions[] = "(posts.body LIKE ? ESCAPE '\\' OR threads.subject LIKE ? ESCAPE '\\')";
        $pattern = '%' . addcslashes($word, '%_\\') . '%';
        array_push($values, $pattern, $pattern);
    }
    return query(
        'SELECT posts.*, threads.subject, members.name
         FROM posts JOIN threads ON threads.id = posts.thread JOIN members ON members.id = posts.member
         WHERE ' . implode(' AND ', $conditions) . ' ORDER BY posts.id DESC LIMIT 30',
        $values
    )->fetchAll();
}

function last_change()
{
    return (int) query('SELECT MAX(changed) FROM threads')->fetchColumn();
}

function page_count($things, $each)
{
    return max(1, (int) ceil($things / $each));
}

function thread_path($thread_id, $page = 1)
{
    return "/thread/$thread_id" . ($page > 1 ? "/page/$page" : '');
}

/* Where a thread's last post is to be read. */
function last_post_path($thread)
{
    $page = page_count($thread['posts'], POSTS_PER_PAGE);
    return thread_path($thread['id'], $page) . '#post-' . $thread['last_post'];
}
