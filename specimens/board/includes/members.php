<?php
/*
 * Members: finding, registering and checking them.
 */
if (!defined('BOARD')) {
    exit;
}

function find_member_by_id($id)
{
    return query('SELECT * FROM members WHERE id = ?', [$id])->fetch() ?: null;
}

function find_member($name)
{
    return query('SELECT * FROM members WHERE name = ?', [$name])->fetch() ?: null;
}

function check_password($name, $password)
{
    $member = is_string($password) ? find_member($name) : null;
    return $member && password_verify($password, $member['password']) ? $member : null;
}

/* Registers a member; the sentence that comes back instead says what is wrong. */
function register_member($name, $password)
{
    if (!preg_match('/^[A-Za-z0-9_-]{2,24}$/', $name)) {
        return 'A name has 2 to 24 letters, digits, _ or -.';
    }
    if (strlen($password) < 8) {
        return 'A password has at least 8 characters.';
    }
    if (find_member($name)) {
        return 'That name is taken.';
    }
    query(
        'INSERT INTO members (name, password, joined) VALUES (?, ?, ?)',
        [$name, password_hash($password, PASSWORD_DEFAULT), time()]
    );
    return find_member($name);
}

function count_posts_of($member)
{
    return (int) query('SELECT COUNT(*) FROM posts WHERE member = ?', [$member['id']])->fetchColumn();
}

function last_posts_of($member)
{
    return query(
        'SELECT posts.*, threads.subject FROM posts JOIN threads ON threads.id = posts.thread
         WHERE posts.member = ? ORDER BY posts.id DESC LIMIT 10',
        [$member['id']]
    )->fetchAll();
}
