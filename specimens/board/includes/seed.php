<?php
/*
 * The first content of a new board: members, threads and posts, the same on every machine but
 * for the dates, which reach back from today.
 */
if (!defined('BOARD')) {
    exit;
}

define('SEED_DEMO_NAME', 'ann');
define('SEED_DEMO_PASSWORD', 'lantern-oil');

function seed_database($database)
{
    mt_srand(1784);
    $now = time();
    $members = seed_members($database, $now);
    $subjects = require BOARD . '/includes/seed_subjects.php';
    $sentences = require BOARD . '/includes/seed_sentences.php';

    $thread_insert = $database->prepare(
        'INSERT INTO threads (id, member, subject, posts, last_post, changed) VALUES (?, ?, ?, ?, ?, ?)'
    );
    $post_insert = $database->prepare(
        'INSERT INTO posts (id, thread, member, body, written) VALUES (?, ?, ?, ?, ?)'
    );
    $post = 0;
    foreach ($subjects as $index => $subject) {
        $thread = $index + 1;
        $count = mt_rand(11, 34);
        $times = seed_times($now - mt_rand(1, 40) * 21600 - mt_rand(0, 20000), $count);
        $starter = $members[array_rand($members)];
        // A post refers to its thread, so the thread goes first and names its last post ahead.
        $thread_insert->execute([$thread, $starter, $subject, $count, $post + $count, end($times)]);
        $before = '';
        foreach ($times as $number => $time) {
            $body = seed_body($sentences, $subject, $number, $before);
            $author = $number === 0 ? $starter : $members[array_rand($members)];
            $post_insert->execute([++$post, $thread, $author, $body, $time]);
            $before = $body;
        }
    }
}

/* The members' numbers. Only the one of the demonstration can log in. */
function seed_members($database, $now)
{
    $names = [
        SEED_DEMO_NAME, 'bellows', 'carbide', 'dorothea', 'emberly', 'fresnel', 'gaslight_joe', 'hurricane',
        'ida', 'juniper', 'keroman', 'lucerna', 'mantle-maker', 'nightwatch', 'old_argand', 'paraffin_pete',
    ];
    $titles = ['Newcomer', 'Wick trimmer', 'Lamplighter', 'Keeper of the light', 'Glass blower'];
    $insert = $database->prepare('INSERT INTO members (id, name, password, title, joined) VALUES (?, ?, ?, ?, ?)');
    foreach ($names as $index => $name) {
        $password = $index === 0 ? password_hash(SEED_DEMO_PASSWORD, PASSWORD_DEFAULT) : '!';
        $title = $titles[mt_rand(0, count($titles) - 1)];
        $insert->execute([$index + 1, $name, $password, $title, $now - mt_rand(60, 2500) * 86400]);
    }
    return range(1, count($names));
}

/* Times of so many posts, the last of them at $end. */
function seed_times($end, $count)
{
    $times = [$end];
    while (count($times) < $count) {
        array_unshift($times, $times[0] - mt_rand(300, 40000));
    }
    return $times;
}

function seed_body($sentences, $subject, $number, $before)
{
    $paragraphs = [];
    if ($number === 0) {
        $paragraphs[] = 'The question is in the title: *' . $subject . '*. ' . seed_sentences($sentences, 2);
    } elseif (mt_rand(0, 3) === 0) {
        $quoted = preg_replace('/(^|\n)>.*/', '', $before);
        $paragraphs[] = '> ' . excerpt($quoted, 110);
    }
    for ($left = mt_rand(1, 2); $left > 0; $left--) {
        $paragraphs[] = seed_sentences($sentences, mt_rand(2, 5));
    }
    return implode("\n\n", $paragraphs);
}

function seed_sentences($sentences, $count)
{
    $chosen = [];
    for (; $count > 0; $count--) {
        $chosen[] = $sentences[mt_rand(0, count($sentences) - 1)];
    }
    return implode(' ', $chosen);
}
